--- Drives askls from a real Neovim without any plugin: what a user has after the lines of editors/README.md.
---
---     nvim -l tests/editors/nvim_plain.lua target/debug/askls
local here = vim.fs.dirname(vim.uv.fs_realpath(debug.getinfo(1, 'S').source:sub(2)))
local h = dofile(here .. '/nvim_harness.lua')
local test, wait, equal, contains = h.test, h.wait, h.equal, h.contains
local run, result_of = h.run, h.result_of

local exits = {}
local function remember_exit(name)
  vim.lsp.config(name, {
    on_exit = function(code, signal)
      exits[name] = { code, signal }
    end,
  })
end

local bufnr, client

test('the lines of the README say that the program is not there, and attach it to a file where it is', function()
  remember_exit('askls')
  h.follow_readme()
  local path = vim.env.PATH
  vim.env.PATH = h.root
  vim.cmd('Ask anything')
  contains('cannot run `askls`', h.notes[1], 'the message')
  vim.env.PATH = path
  bufnr, client = h.open('askls')
  equal('askls', client.server_info.name, 'serverInfo.name')
  equal(h.root, vim.fs.normalize(client.root_dir), 'root')
end)

test('an ask shows its progress and answers from the real files', function()
  local result = result_of(client, bufnr, 'askls.ask', { prompt = 'What files are in the current directory? Then read Cargo.toml.' })
  equal('answer', result.stopReason, 'stopReason')
  contains('main.rs', result.answer, 'the answer')
  contains('name = "sample"', result.answer, 'the answer')
  equal('none', result.edits, 'edits')
  wait(h.progress_has_ended, 'the end of the progress')
  h.check_progress()
  equal('Ask agent', h.progress[1].title, 'title')
  -- The message comes beside the response: left alone, the next test would take it for its own.
  wait(function()
    return #h.messages + #h.questions > 0
  end, 'the message')
end)

test("the README's :Ask brings the answer as a message", function()
  vim.cmd('Ask Read Cargo.toml')
  wait(function()
    return #h.messages + #h.questions > 0
  end, 'the message')
  local message = h.messages[1] or h.questions[1].prompt
  contains('Cargo.toml', message, 'the message')
  equal(nil, message:find('\n'), 'a line break in the message')
end)

test('an edit of unsaved text is proposed, applied when Apply is chosen, and undone in one step', function()
  vim.api.nvim_buf_set_lines(bufnr, 0, 0, false, { '// typed, not saved' })
  vim.cmd('let &undolevels = &undolevels') -- closes the undo block
  local before = h.text(bufnr)
  h.choose = 'Apply'
  local result = result_of(client, bufnr, 'askls.ask', { prompt = 'replace `hello` with `goodbye` in main.rs' })
  equal('proposed', result.edits, 'edits')
  equal({ vim.uri_from_bufnr(bufnr) }, result.files, 'files')
  -- The message comes last: before it the server may not have seen its edit in the buffer yet.
  wait(function()
    return vim.inspect(h.messages):find('Agent edits applied', 1, true)
  end, 'the message')
  h.choose = nil
  equal('    println!("goodbye \u{1F980}");', h.text(bufnr)[3], 'the edited line')
  equal('// typed, not saved', h.text(bufnr)[1], 'the unsaved line')
  equal(1, #h.questions, 'questions, of which one holds the answer and its edits')
  contains('edit main.rs', h.questions[1].prompt, 'the question')
  equal({ 'Apply', 'Review', 'Reject', 'Open answer' }, h.questions[1].titles, 'the actions offered')
  equal(h.main, vim.fn.readfile(h.root .. '/main.rs'), 'the file on disk')
  vim.cmd.undo()
  equal(before, h.text(bufnr), 'the text after one undo')
  vim.cmd.undo()
end)

test('an edit that nobody answered stays open for askls.acceptEdits', function()
  local result = result_of(client, bufnr, 'askls.ask', { prompt = 'replace `hello` with `welcome` in main.rs' })
  equal('proposed', result.edits, 'edits')
  local accepted = result_of(client, bufnr, 'askls.acceptEdits', { threadId = result.threadId })
  equal(true, accepted.applied, 'applied')
  wait(function()
    return h.text(bufnr)[2] == '    println!("welcome \u{1F980}");'
  end, 'the edit')
  vim.cmd.undo()
  equal(h.main, h.text(bufnr), 'the text after one undo')
end)

test("the README's :AskUndo and :AskRedo take the whole turn back and forth", function()
  local result = result_of(client, bufnr, 'askls.ask', { prompt = 'replace `hello` with `welcome` in main.rs' })
  result_of(client, bufnr, 'askls.acceptEdits', { threadId = result.threadId })
  local function wait_line(line, what)
    wait(function()
      local is_answered = true
      for _, request in pairs(client.requests) do
        is_answered = is_answered and request.type ~= 'pending'
      end
      return is_answered and h.text(bufnr)[2] == line
    end, what)
  end
  wait_line('    println!("welcome \u{1F980}");', 'the edit')
  vim.cmd.AskUndo()
  wait_line(h.main[2], 'the undo')
  vim.cmd.AskRedo()
  wait_line('    println!("welcome \u{1F980}");', 'the redo')
  vim.cmd.AskUndo()
  wait_line(h.main[2], 'the second undo')
  equal(h.main, h.text(bufnr), 'the text after the undo')
  h.reset()
end)

test('a comment line `ask: ...?` offers its question as a code action', function()
  local wanted = 'Ask agent: where is main defined?'
  vim.api.nvim_win_set_cursor(0, { #h.main, 5 })
  local offered = {}
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      table.insert(offered, action.title)
      return action.title == wanted
    end,
  })
  wait(function()
    return #offered > 0
  end, 'code actions')
  equal(true, vim.list_contains(offered, wanted), 'the question among ' .. table.concat(offered, ' | '))
  wait(h.progress_has_ended, 'the end of the progress')
  wait(function()
    return #h.messages + #h.questions > 0
  end, 'the answer')
end)

test('a bad argument is refused with its path', function()
  local failure
  run(client, bufnr, 'askls.ask', { prompt = 7 }, function(err)
    failure = err
  end)
  wait(function()
    return failure
  end, 'the error')
  equal(-32602, failure.code, 'code')
  contains('arguments[0].prompt', failure.message, 'message')
end)

test('the server ends with code 0 when it is told to', function()
  vim.lsp.enable('askls', false)
  wait(function()
    return exits.askls
  end, 'the exit')
  equal({ 0, 0 }, exits.askls, 'exit code and signal')
end)

local instant

test('with `edits = immediate` a new file is in its buffer, with no line more, and the user hears that it is not saved', function()
  vim.lsp.config('askls-immediate', {
    cmd = h.cmd,
    root_dir = function(_, on_dir)
      on_dir(h.root)
    end,
    init_options = { edits = 'immediate' },
  })
  vim.lsp.enable('askls-immediate')
  bufnr, instant = h.open('askls-immediate')
  local result = result_of(instant, bufnr, 'askls.ask', { prompt = 'create new.rs with `fn new() {}`' })
  local uri = vim.uri_from_fname(h.root .. '/new.rs')
  equal({ 'applied', { uri }, { uri } }, { result.edits, result.files, result.unsaved }, 'edits, files, unsaved')
  equal({ 'fn new() {}' }, h.text(vim.uri_to_bufnr(uri)), 'the buffer')
  contains('The edit is applied.', result.answer, 'the answer')
  equal({}, vim.fn.readfile(h.root .. '/new.rs'), 'the file on disk')
  wait(function()
    return #h.messages + #h.questions > 0
  end, 'the message')
  contains('not saved yet: new.rs', h.messages[1] or h.questions[1].prompt, 'the message')
end)

test('lines added at the end leave no empty line, in a file that was not open too', function()
  vim.fn.writefile({ 'one' }, h.root .. '/closed.txt')
  result_of(instant, bufnr, 'askls.ask', { prompt = 'append `two` to closed.txt' })
  equal({ 'one', 'two' }, h.text(vim.uri_to_bufnr(vim.uri_from_fname(h.root .. '/closed.txt'))), 'the buffer')
  vim.cmd.wall()
  equal({ 'one', 'two' }, vim.fn.readfile(h.root .. '/closed.txt'), 'the file on disk')
end)

test('what Neovim never tells of is applied all the same, and said to be unsaved', function()
  local result = result_of(instant, bufnr, 'askls.ask', { prompt = 'create sub/a.notype with `text`' })
  local uri = vim.uri_from_fname(h.root .. '/sub/a.notype')
  equal('', vim.bo[vim.uri_to_bufnr(uri)].filetype, 'the file type')
  equal({ 'applied', { uri } }, { result.edits, result.unsaved }, 'edits, unsaved')
  equal({ 'text' }, h.text(vim.uri_to_bufnr(uri)), 'the buffer')
  vim.cmd.wall()
  vim.lsp.enable('askls-immediate', false)
end)

local slow_bufnr, slow
local pid_file = h.root .. '/.git/pid'

local function hello(token)
  return { command = 'askls.ask', arguments = { { prompt = 'hello?' } }, workDoneToken = token }
end

test('$/cancelRequest ends a turn whose model never answers, and its progress', function()
  local cmd = { 'sh', '-c', 'echo $$ > "$0"; exec "$@"', pid_file }
  vim.lsp.config('askls-silent', {
    cmd = vim.list_extend(cmd, h.cmd),
    root_markers = { '.git' },
    init_options = h.silent_model_settings(),
  })
  remember_exit('askls-silent')
  vim.lsp.enable('askls-silent')
  slow_bufnr, slow = h.open('askls-silent')
  local _, id = slow:request('workspace/executeCommand', hello(), function() end, slow_bufnr)
  wait(function()
    return #h.progress > 1
  end, 'a report')
  contains('step 1 of 50', h.progress[2].message, 'the report')
  equal(nil, h.progress[2].percentage, 'the percentage, which nobody can know')
  slow:cancel_request(id)
  wait(h.progress_has_ended, 'the end of the progress')
  h.check_progress()
end)

test('window/workDoneProgress/cancel does the same', function()
  slow:request('workspace/executeCommand', hello('mine'), function() end, slow_bufnr)
  wait(function()
    return #h.progress > 0
  end, 'the progress to begin')
  slow:notify('window/workDoneProgress/cancel', { token = 'mine' })
  wait(h.progress_has_ended, 'the end of the progress')
  h.check_progress()
end)

test("the README's :AskStop ends the turn", function()
  vim.lsp.config('askls', { init_options = h.silent_model_settings() })
  vim.lsp.enable('askls')
  h.open('askls')
  vim.cmd('Ask hello?')
  wait(function()
    return #h.progress > 0
  end, 'the progress to begin')
  vim.cmd('AskStop')
  wait(h.progress_has_ended, 'the end of the progress')
  h.check_progress()
  vim.lsp.enable('askls', false)
end)

test('Neovim notices when the server dies in the middle of a turn', function()
  run(slow, slow_bufnr, 'askls.ask', { prompt = 'hello?' }, function() end)
  wait(function()
    return #h.progress > 0
  end, 'the progress to begin')
  vim.uv.kill(tonumber(vim.fn.readfile(pid_file)[1]), 'sigkill')
  wait(function()
    return exits['askls-silent']
  end, 'the exit')
  equal(9, exits['askls-silent'][2], 'signal')
  wait(function()
    return #vim.lsp.get_clients({ name = 'askls-silent' }) == 0
  end, 'the client to go')
end)

h.finish()
