--- Drives the plugin of editors/nvim in a real Neovim: `:Ask`, its range, `:AskStop`, the answer window.
---
---     nvim -l tests/editors/nvim_plugin.lua target/debug/askls
local here = vim.fs.dirname(vim.uv.fs_realpath(debug.getinfo(1, 'S').source:sub(2)))
local h = dofile(here .. '/nvim_harness.lua')
local test, wait, equal, contains = h.test, h.wait, h.equal, h.contains
vim.opt.runtimepath:prepend(vim.fs.normalize(here .. '/../../editors/nvim'))
local askls = require('askls')

local function answer_window()
  local window = vim.fn.bufwinid('^askls://answer$')
  return window ~= -1 and window or nil
end

local function answer_text()
  local window = answer_window()
  return window and table.concat(h.text(vim.api.nvim_win_get_buf(window)), '\n') or ''
end

--- Waits for the answer to the question `prompt`; it stands under the question.
local function answer_to(prompt)
  wait(function()
    return vim.startswith(answer_text(), '# ' .. prompt)
  end, 'the answer window')
  return answer_text()
end

--- What the plugin sent to the server last, as the server's log would show it.
local sent = {}
local function listen(client)
  local request = client.request
  client.request = function(self, method, params, ...)
    if method == 'workspace/executeCommand' then
      sent = params
    end
    return request(self, method, params, ...)
  end
end

local bufnr, client

test('a missing server is said, with what to do', function()
  askls.setup({ cmd = { 'askls-that-is-not-there' } })
  contains('cannot run `askls-that-is-not-there`', h.notes[1], 'at setup')
  contains('cargo install', h.notes[1], 'at setup')
  vim.cmd('Ask anything')
  contains('cannot run `askls-that-is-not-there`', h.notes[2], 'at :Ask')
end)

test('setup makes the tags of the help, so that :help askls finds it', function()
  local tags = vim.fs.normalize(here .. '/../../editors/nvim/doc/tags')
  vim.fn.delete(tags)
  askls.setup({ cmd = h.cmd })
  equal(1, vim.fn.filereadable(tags), 'doc/tags')
  vim.cmd('help askls-edits')
  equal('askls.txt', vim.fs.basename(vim.api.nvim_buf_get_name(0)), 'the page')
  vim.cmd.helpclose()
end)

test('setup attaches the server to a file, with the settings', function()
  askls.setup({ cmd = h.cmd, settings = { max_steps = 20 } })
  bufnr, client = h.open('askls')
  listen(client)
  equal({ max_steps = 20, show_answer = 'none' }, client.config.init_options, 'initializationOptions')
  equal(h.root, vim.fs.normalize(client.root_dir), 'root')
end)

test(':Ask opens the answer in a Markdown window and leaves the cursor where it was', function()
  local window = vim.api.nvim_get_current_win()
  vim.cmd('Ask Read Cargo.toml')
  contains('askls', askls.status(), 'the status line')
  contains('name = "sample"', answer_to('Read Cargo.toml'), 'the answer')
  equal('markdown', vim.bo[vim.api.nvim_win_get_buf(answer_window())].filetype, 'file type')
  equal(window, vim.api.nvim_get_current_win(), 'the current window')
  equal({ prompt = 'Read Cargo.toml', uri = vim.uri_from_bufnr(bufnr) }, sent.arguments[1], 'the argument')
  h.check_progress()
  equal('', askls.status(), 'the status line afterwards')
  equal({}, h.messages, 'messages')
end)

test('the next answer takes the same window', function()
  local window = answer_window()
  vim.cmd('Ask What files are in the current directory?')
  contains('main.rs', answer_to('What files are in the current directory?'), 'the answer')
  equal(window, answer_window(), 'the window')
  equal(2, #vim.api.nvim_tabpage_list_wins(0), 'windows')
end)

test(':AskContinue goes on in the last thread, and its answer stands below the first', function()
  vim.cmd('Ask Read Cargo.toml')
  answer_to('Read Cargo.toml')
  vim.cmd('1AskContinue What files are in the current directory?')
  local argument = sent.arguments[1]
  wait(function()
    return answer_text():find('\n# What files are in the current directory?\n', 1, true)
  end, 'the second answer')
  contains('# Read Cargo.toml\n', answer_text(), 'the first answer')
  contains('main.rs', answer_text(), 'the second answer')
  equal('string', type(argument.threadId), 'the thread')
  equal(0, argument.range.start.line, 'the range')
  vim.cmd('AskContinue Read Cargo.toml')
  equal(argument.threadId, sent.arguments[1].threadId, 'the thread of the third')
  wait(function()
    return select(2, answer_text():gsub('# Read Cargo.toml', '')) == 2
  end, 'the third answer')
end)

test(':AskStatus shows what the server says of itself', function()
  vim.cmd.AskStatus()
  local window
  wait(function()
    window = vim.fn.bufwinid('^askls://status$')
    return window ~= -1
  end, 'the window')
  contains('running turns: 0', table.concat(h.text(vim.api.nvim_win_get_buf(window)), '\n'), 'the text')
  vim.api.nvim_win_close(window, true)
end)

test("a selection of characters goes along in the server's encoding", function()
  vim.cmd.normal({ '2G0fh' .. 'vf\u{1F980}\27', bang = true }) -- from `hello` to the crab, which is 4 bytes, 2 utf-16 units
  vim.cmd("'<,'>Ask What is this?")
  answer_to('What is this?')
  local line = h.main[2]
  local function units(byte)
    return vim.str_utfindex(line, client.offset_encoding, byte)
  end
  local first, last = line:find('hello \u{1F980}', 1, true)
  equal({
    start = { line = 1, character = units(first - 1) },
    ['end'] = { line = 1, character = units(last) },
  }, sent.arguments[1].range, 'the range')
end)

test('a range of lines goes along whole', function()
  vim.cmd('1,2Ask What are these lines?')
  answer_to('What are these lines?')
  equal({
    start = { line = 0, character = 0 },
    ['end'] = { line = 1, character = vim.str_utfindex(h.main[2], client.offset_encoding) },
  }, sent.arguments[1].range, 'the range')
end)

--- Has `hello` replaced, and applies it. The message comes last: before it the server has not seen its edit in the
--- buffer yet, and there is nothing to undo.
local function replace_hello(with)
  h.choose = 'Apply'
  vim.cmd(('Ask replace `hello` with `%s` in main.rs'):format(with))
  wait(function()
    return vim.inspect(h.messages):find('Agent edits applied', 1, true)
  end, 'the edit')
  h.choose = nil
  equal(('    println!("%s \u{1F980}");'):format(with), h.text(bufnr)[2], 'the line')
end

test('a question about edits comes when the answer, the hints and the lenses are on the screen', function()
  local seen
  h.at_question = function()
    seen = { answer_text():match('^# [^\n]*'), #vim.diagnostic.get(bufnr), #vim.lsp.codelens.get(bufnr) }
  end
  vim.cmd('Ask replace `hello` with `goodbye` in main.rs')
  wait(function()
    return seen
  end, 'the question')
  equal({ '# replace `hello` with `goodbye` in main.rs', 1, 3 }, seen, 'heading, hints, lenses')
end)

test('Review opens the diff in a window of its own, and then asks again', function()
  local window = vim.api.nvim_get_current_win()
  h.choose = 'Review'
  vim.cmd('Ask replace `hello` with `welcome` in main.rs')
  wait(function()
    return #h.questions == 2
  end, 'the second question')
  h.choose = nil
  equal({ 'Apply', 'Reject' }, h.questions[2].titles, 'what is asked then')
  equal(bufnr, vim.api.nvim_win_get_buf(window), 'the window with the file')
  contains('+    println!("welcome', table.concat(h.text(0), '\n'), 'the diff')
  vim.api.nvim_feedkeys('q', 'x', false)
  equal(bufnr, vim.api.nvim_get_current_buf(), 'the buffer after `q`')
  h.result_of(client, bufnr, 'askls.rejectEdits')
end)

test(':AskFix has the agent fix what another server says of the line', function()
  local namespace = vim.api.nvim_create_namespace('another server')
  vim.diagnostic.set(namespace, bufnr, { { lnum = 1, col = 4, message = 'no such macro', source = 'other' } })
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.cmd.AskFix()
  answer_to('Fix this problem: no such macro')
  contains('no such macro', sent.arguments[1].diagnostics[1], 'what goes along')
  vim.diagnostic.reset(namespace, bufnr)
  vim.cmd.AskFix()
  contains('no diagnostic on this line', h.notes[1], 'on a line without one')
end)

--- Sends `:AskUndo` or `:AskRedo` and waits for what the server says of it, the last thing that it does.
local function undo_or_redo(command, said)
  h.messages = {}
  vim.cmd(command)
  wait(function()
    return #h.messages > 0
  end, 'the message')
  contains(said, h.messages[1], 'the message')
end

test('an edit is offered, applied when Apply is chosen, and undone in one step', function()
  replace_hello('goodbye')
  vim.cmd.undo()
  equal(h.main, h.text(bufnr), 'the text after one undo')
end)

test(':AskUndo and :AskRedo take the whole turn back and forth', function()
  replace_hello('welcome')
  undo_or_redo('AskUndo', 'Undid "replace `hello` with `welcome` in main.rs" (main.rs)')
  equal(h.main, h.text(bufnr), 'the text after the undo')
  undo_or_redo('AskRedo', 'Redid')
  equal('    println!("welcome \u{1F980}");', h.text(bufnr)[2], 'the line after the redo')
  undo_or_redo('AskUndo', 'Undid')
  equal(h.main, h.text(bufnr), 'the text after the second undo')
end)

test(":AskUndo asks where the user has typed since, and takes the agent's part alone", function()
  replace_hello('goodbye')
  vim.api.nvim_buf_set_lines(bufnr, -1, -1, false, { '// typed since' })
  h.choose = "Undo the agent's part"
  undo_or_redo('AskUndo', 'Undid')
  h.choose = nil
  contains('main.rs has changed since', h.questions[#h.questions].prompt, 'the question')
  equal(vim.list_extend(vim.deepcopy(h.main), { '// typed since' }), h.text(bufnr), 'the text')
  vim.api.nvim_buf_set_lines(bufnr, -2, -1, false, {})
end)

test('a lens at a proposed edit rejects it', function()
  vim.cmd('Ask replace `hello` with `goodbye` in main.rs')
  local function titles()
    return vim.tbl_map(function(lens)
      return ('%d %s'):format(lens.range.start.line + 1, lens.command.title)
    end, vim.lsp.codelens.get(bufnr))
  end
  wait(function()
    return vim.deep_equal({ '2 askls: Apply', '2 Reject', '2 Show' }, titles())
  end, 'the lenses')
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  h.choose = 'Reject'
  vim.lsp.codelens.run()
  wait(function()
    return #titles() == 0
  end, 'the lenses to go')
  h.choose = nil
  equal(h.main, h.text(bufnr), 'the text')
end)

test('the window with the answer names the files that are not saved', function()
  local unsaved = { vim.uri_from_fname(h.root .. '/sub/a b.rs'), vim.uri_from_bufnr(bufnr) }
  require('askls.answer').show('change both', { answer = 'Changed.', stopReason = 'answer', unsaved = unsaved })
  contains('> Not saved yet: `sub/a b.rs`, `main.rs`. `:wall` saves.', answer_to('change both'), 'the answer')
end)

test('the window with the answer names the jobs that go on, and how to end them', function()
  require('askls.answer').show('serve', { answer = 'It runs.', stopReason = 'answer', jobs = { 'npm start' } })
  contains('> Still running in the background: `npm start`. `:AskStop` ends it.', answer_to('serve'), 'the answer')
end)

test('the answer to a code action opens in the window too', function()
  vim.api.nvim_win_set_cursor(0, { #h.main, 5 })
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action)
      return action.title == 'Ask agent: where is main defined?'
    end,
  })
  contains('main', answer_to('where is main defined?'), 'the answer')
end)

test('a file without a file type is attached too', function()
  vim.cmd.edit(h.root .. '/notes-without-a-type')
  wait(function()
    return #vim.lsp.get_clients({ bufnr = 0, name = 'askls' }) == 1
  end, 'askls to attach')
  equal('', vim.bo.filetype, 'file type')
  equal(1, #vim.lsp.get_clients({ name = 'askls' }), 'servers')
  vim.cmd.buffer(bufnr)
end)

test('`q` closes the answer window, and the next answer opens it again', function()
  vim.api.nvim_set_current_win(answer_window())
  vim.api.nvim_feedkeys('q', 'x', false)
  equal(nil, answer_window(), 'the window')
  vim.cmd('Ask Read Cargo.toml')
  answer_to('Read Cargo.toml')
end)

test('the server ends with code 0 when it is told to', function()
  vim.lsp.enable('askls', false)
  wait(function()
    return #vim.lsp.get_clients({ name = 'askls' }) == 0
  end, 'the client to go')
  equal({}, h.notes, 'complaints')
end)

test('the words that had come stay in the window after :AskStop', function()
  askls.setup({ cmd = h.cmd, settings = h.endless_model_settings('Once upon a time') })
  h.open('askls')
  vim.cmd('Ask tell me a story')
  wait(function()
    return askls.status():find('answering', 1, true)
  end, 'the answer to begin')
  vim.cmd.AskStop()
  local shown = answer_to('tell me a story')
  contains('Once upon a time', shown, 'the window')
  contains('Not finished: cancelled', shown, 'the window')
  contains('`:AskContinue` asks on', shown, 'the window')
  h.check_progress()
  vim.lsp.enable('askls', false)
  wait(function()
    return #vim.lsp.get_clients({ name = 'askls' }) == 0
  end, 'the client to go')
end)

--- The window with a question of the plugin's own: about a command, or the one that offers `answer`.
local function question_window(answer)
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    local text = table.concat(h.text(vim.api.nvim_win_get_buf(window)), '\n')
    if text:find(answer or '1: Allow once', 1, true) then
      return window, text
    end
  end
end

--- Asks a model that runs a command, without a picker, and waits for the question.
local function ask_to_run(command, settings)
  vim.ui.select = h.builtin_select
  askls.setup({ cmd = h.cmd, settings = vim.tbl_extend('force', h.commanding_model_settings(command), settings or {}) })
  h.open('askls')
  vim.cmd('Ask ' .. command)
  wait(function()
    return question_window()
  end, 'the question')
end

local function stop_server()
  vim.ui.select = h.select
  vim.lsp.enable('askls', false)
  wait(function()
    return #vim.lsp.get_clients({ name = 'askls' }) == 0
  end, 'the client to go')
end

test('a command is asked about in a window, where each answer has its number', function()
  local mark = h.root .. '/ran.txt'
  ask_to_run('touch ' .. mark)
  local window, text = question_window()
  equal(window, vim.api.nvim_get_current_win(), 'the current window')
  equal(('«touch %s»'):format(mark), text:match('^[^\n]*'), 'the first line')
  contains('2: Deny', text, 'the second answer')
  contains('closes the question, which means no', text, 'the last line')
  wait(function()
    return askls.status():find('waiting for your answer', 1, true)
  end, 'the progress to say who is waited for')
  vim.api.nvim_feedkeys('\r', 'xt', false)
  equal(window, (question_window()), 'Enter alone chooses nothing')
  vim.api.nvim_feedkeys('1\r', 'xt', false)
  contains('Done.', answer_to('touch ' .. mark), 'the answer')
  equal(1, vim.fn.filereadable(mark), 'it ran')
  equal(nil, question_window(), 'the window')
  stop_server()
end)

test('a question that is closed is a no', function()
  ask_to_run('touch closed.txt')
  vim.api.nvim_feedkeys('q', 'xt', false)
  contains('Done.', answer_to('touch closed.txt'), 'the answer')
  equal(0, vim.fn.filereadable(h.root .. '/closed.txt'), 'it ran')
  stop_server()
end)

test('a question goes when its time is up, and nothing has run', function()
  ask_to_run('touch late.txt', { approval_timeout = 1 })
  wait(function()
    return not question_window()
  end, 'the question to go')
  contains('Done.', answer_to('touch late.txt'), 'the answer')
  equal(0, vim.fn.filereadable(h.root .. '/late.txt'), 'it ran')
  stop_server()
end)

test('who types is not interrupted by a question', function()
  local window = vim.api.nvim_get_current_win()
  vim.api.nvim_get_mode, h.get_mode = function()
    return { mode = 'i', blocking = false }
  end, vim.api.nvim_get_mode
  ask_to_run('touch typed.txt')
  vim.api.nvim_get_mode = h.get_mode
  equal(window, vim.api.nvim_get_current_win(), 'the current window')
  contains('the agent asks something', h.notes[1], 'the hint')
  vim.cmd.AskStop()
  wait(function()
    return not question_window()
  end, 'the question to go')
  stop_server()
end)

test('a review closes with the question that was asked over it, and the cursor is in the file again', function()
  vim.ui.select = h.builtin_select
  -- What earlier tests have set stays.
  askls.setup({ cmd = h.cmd, settings = { model = 'offline' } })
  local file = h.open('askls')
  vim.cmd('Ask replace `hello` with `welcome` in main.rs')
  wait(function()
    return question_window('2: Review')
  end, 'the question')
  vim.api.nvim_feedkeys('2\r', 'xt', false)
  wait(function()
    return question_window('2: Reject')
  end, 'the question over the review')
  vim.api.nvim_feedkeys('q', 'xt', false)
  wait(function()
    return not question_window('2: Reject')
  end, 'the question to go')
  equal(file, vim.api.nvim_get_current_buf(), 'the buffer with the cursor')
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    equal(nil, vim.w[window].askls_document, 'a window with the review')
  end
  stop_server()
end)

test('a question over a review that is in the last window is answered', function()
  vim.ui.select = h.builtin_select
  askls.setup({ cmd = h.cmd, settings = { model = 'offline' } })
  local bufnr, client = h.open('askls')
  vim.cmd('Ask replace `hello` with `welcome` in main.rs')
  wait(function()
    return question_window('2: Review')
  end, 'the question')
  vim.api.nvim_feedkeys('2\r', 'xt', false)
  wait(function()
    return question_window('2: Reject')
  end, 'the question over the review')
  local question = question_window('2: Reject')
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if window ~= question and not vim.w[window].askls_from then
      vim.api.nvim_win_close(window, true)
    end
  end
  vim.api.nvim_feedkeys('2\r', 'xt', false)
  wait(function()
    return not question_window('2: Reject')
  end, 'the question to go')
  equal(1, #vim.api.nvim_list_wins(), 'windows')
  wait(function()
    return vim.tbl_isempty(h.result_of(client, bufnr, 'askls.showEdits').files)
  end, 'the edits to be rejected')
  vim.w.askls_from, vim.w.askls_document = nil, nil
  stop_server()
end)

local pid_file = h.root .. '/.git/pid'

test(':AskStop ends a turn whose model never answers', function()
  local cmd = { 'sh', '-c', 'echo $$ > "$0"; exec "$@"', pid_file }
  askls.setup({ cmd = vim.list_extend(cmd, h.cmd), settings = h.silent_model_settings() })
  h.open('askls')
  vim.cmd('Ask hello?')
  wait(function()
    return #h.progress > 0
  end, 'the progress to begin')
  contains('askls: ', askls.status(), 'the status line')
  vim.cmd.AskStop()
  wait(h.progress_has_ended, 'the end of the progress')
  h.check_progress()
  equal('', askls.status(), 'the status line afterwards')
  contains('Not finished: cancelled', answer_to('hello?'), 'the window')
end)

test('after the death of the server nothing seems to run, and the next :Ask starts it again', function()
  vim.cmd('Ask hello?')
  wait(function()
    return #h.progress > 0
  end, 'the progress to begin')
  local pid = vim.fn.readfile(pid_file)[1]
  vim.uv.kill(tonumber(pid), 'sigkill')
  wait(function()
    return #h.notes > 0
  end, 'the message')
  contains('quit with exit code', h.notes[1], 'the message')
  equal('', askls.status(), 'the status line')
  h.reset()
  vim.cmd('Ask hello again?')
  wait(function()
    return #h.progress > 0
  end, 'the progress to begin')
  equal(false, pid == vim.fn.readfile(pid_file)[1], 'the same process')
  vim.cmd.AskStop()
  wait(h.progress_has_ended, 'the end of the progress')
end)

h.finish()
