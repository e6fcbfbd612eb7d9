--- Drives what can become of each proposed edit from a real Neovim without any plugin: its code actions, its lenses, its
--- hints, while the user types on.
---
---     nvim -l tests/editors/nvim_hunks.lua target/debug/askls
local here = vim.fs.dirname(vim.uv.fs_realpath(debug.getinfo(1, 'S').source:sub(2)))
local h = dofile(here .. '/nvim_harness.lua')
local test, wait, equal, contains = h.test, h.wait, h.equal, h.contains

--- One word that is replaced in three places, so that three edits are proposed.
local three = { 'hello one', '', 'hello \u{1F980}', '', 'hello three' }
vim.fn.writefile(three, h.root .. '/three.txt')

local bufnr, client

local function lines_with_hints()
  local lines = vim.tbl_map(function(hint)
    return hint.lnum + 1
  end, vim.diagnostic.get(bufnr))
  table.sort(lines)
  return lines
end

--- Waits until exactly these lines, counted from 1, say that an edit waits there.
local function wait_hints(lines)
  wait(function()
    return vim.deep_equal(lines, lines_with_hints())
  end, 'hints at ' .. vim.inspect(lines))
end

local function wait_text(lines)
  wait(function()
    return vim.deep_equal(lines, h.text(bufnr))
  end, 'the text ' .. vim.inspect(lines))
end

--- Has the agent propose an edit in each of the three lines, and leaves its question unanswered.
local function propose()
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, three)
  local result = h.result_of(client, bufnr, 'askls.ask', { prompt = 'replace `hello` with `goodbye` in three.txt' })
  equal('proposed', result.edits, 'edits')
  wait_hints({ 1, 3, 5 })
  vim.cmd('let &undolevels = &undolevels') -- closes the undo block
end

--- The titles that Neovim's menu would list at a line.
local function actions_at(line)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  local params = vim.lsp.util.make_range_params(0, client.offset_encoding)
  params.context = { diagnostics = vim.lsp.diagnostic.from(vim.diagnostic.get(bufnr, { lnum = line - 1 })) }
  local found
  client:request('textDocument/codeAction', params, function(_, actions)
    found = actions or {}
  end, bufnr)
  wait(function()
    return found
  end, 'code actions')
  return vim.tbl_map(function(action)
    return action.title
  end, found)
end

local function act(line, title)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return action.title == title
    end,
  })
end

test('each proposed edit has a hint at its line', function()
  h.follow_readme()
  bufnr, client = h.open('askls', 'three.txt')
  propose()
  local hint = vim.diagnostic.get(bufnr, { lnum = 2 })[1]
  equal({ 'askls', 'agent edit: replaces 1 line by 1: "goodbye \u{1F980}"' }, { hint.source, hint.message }, 'the hint')
end)

test('the menu at an edit names it first, elsewhere only what is about the whole file', function()
  local of_the_file = {
    'Apply all agent edits in this file',
    'Reject all agent edits in this file',
    'Apply every edit of this turn (1 file)',
    'Reject every edit of this turn (1 file)',
  }
  local of_the_line = { 'Apply this agent edit (line 3)', 'Reject this agent edit' }
  equal(vim.list_extend(of_the_line, of_the_file), actions_at(3), 'at an edit')
  equal(of_the_file, actions_at(2), 'between two edits')
end)

test("the README's :AskFix has the agent fix what another server says of the line", function()
  local namespace = vim.api.nvim_create_namespace('another server')
  vim.diagnostic.set(namespace, bufnr, { { lnum = 1, col = 0, message = 'an empty line', source = 'other' } })
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  h.reset()
  vim.cmd.AskFix()
  wait(h.progress_has_ended, 'the end of an ask')
  contains('Ask agent', h.progress[1].title, 'the progress')
  vim.diagnostic.reset(namespace, bufnr)
end)

test('one of three edits is applied alone, and undone in one step', function()
  act(3, 'Apply this agent edit (line 3)')
  wait_text({ 'hello one', '', 'goodbye \u{1F980}', '', 'hello three' })
  wait_hints({ 1, 5 })
  vim.cmd.undo()
  equal(three, h.text(bufnr), 'the text after one undo')
end)

test('a rejected edit is offered no more, and the last one can still be applied', function()
  act(1, 'Reject this agent edit')
  wait_hints({ 5 })
  act(1, 'Apply all agent edits in this file')
  wait_text({ 'hello one', '', 'hello \u{1F980}', '', 'goodbye three' })
  wait_hints({})
end)

test('an edit moves with what is typed above it', function()
  propose()
  vim.api.nvim_buf_set_lines(bufnr, 1, 1, false, { 'typed', 'lines' })
  wait_hints({ 1, 5, 7 })
  act(5, 'Apply this agent edit (line 5)')
  wait_text({ 'hello one', 'typed', 'lines', '', 'goodbye \u{1F980}', '', 'hello three' })
  wait_hints({ 1, 7 })
  h.result_of(client, bufnr, 'askls.rejectEdits')
  wait_hints({})
end)

test('typing into the line of an edit keeps that edit out, and the others are applied when the user says so', function()
  propose()
  vim.api.nvim_buf_set_text(bufnr, 2, 0, 2, 0, { 'Oh, ' })
  equal('Reject this agent edit (you changed this line)', actions_at(3)[1], 'the first action')
  h.choose = 'Apply the others'
  act(1, 'Apply all agent edits in this file')
  wait_text({ 'goodbye one', '', 'Oh, hello \u{1F980}', '', 'goodbye three' })
  h.choose = nil
  contains('nothing was applied: you changed line 3 of three.txt', h.questions[#h.questions].prompt, 'the question')
  wait_hints({ 3 })
  act(3, 'Reject this agent edit (you changed this line)')
  wait_hints({})
end)

test('an edit that was typed over fits again when the user takes that back', function()
  propose()
  vim.api.nvim_buf_set_text(bufnr, 2, 0, 2, 0, { 'Oh, ' })
  equal('Reject this agent edit (you changed this line)', actions_at(3)[1], 'the first action')
  vim.cmd.undo()
  act(3, 'Apply this agent edit (line 3)')
  wait_text({ 'hello one', '', 'goodbye \u{1F980}', '', 'hello three' })
  h.result_of(client, bufnr, 'askls.rejectEdits')
  wait_hints({})
end)

test('a lens at an edit applies that one', function()
  propose()
  wait(function()
    return #vim.lsp.codelens.get(bufnr) == 9
  end, 'three lenses for each edit')
  vim.api.nvim_win_set_cursor(0, { 5, 0 })
  h.choose = 'askls: Apply'
  vim.lsp.codelens.run()
  wait_text({ 'hello one', '', 'hello \u{1F980}', '', 'goodbye three' })
  h.choose = nil
  equal({ 'askls: Apply', 'Reject', 'Show' }, h.questions[#h.questions].titles, 'the lenses of the line')
  wait_hints({ 1, 3 })
end)

h.finish()
