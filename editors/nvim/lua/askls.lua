--- askls in Neovim: starts the server for every file, `:Ask`, `:AskContinue`, `:AskFix`, `:AskStop`, `:AskStatus`,
--- `:AskUndo`, `:AskRedo`, and windows for answers and questions.
--- Nothing here is needed to use askls (plain `vim.lsp.config` works); it only makes asking shorter.
local answer = require('askls.answer')
local place = require('askls.place')
local question = require('askls.question')
local screen = require('askls.screen')

local M = {}

local NAME = 'askls'

---@class askls.Options
---@field cmd? string[] the server's command line; default: `askls` from PATH
---@field settings? table<string, any> settings of askls by their names (`model`, `base_url`, `edits` ...)
local options = { cmd = { 'askls' }, settings = {} }

--- The running turns: progress token -> whose it is, and what its progress said last.
---@type table<string|integer, { client_id: integer, text: string, request_id?: integer }>
local running = {}

--- What a stopped turn had said of its answer, and its thread: progress token -> both, until its window shows them.
---@type table<string|integer, { answer?: string, threadId?: string }>
local unfinished = {}

--- The thread that was asked last, which `:AskContinue` continues.
---@type { client_id: integer, id: string }?
local last_thread

--- What to do once a client has been initialized: client id -> functions.
---@type table<integer, fun(client: vim.lsp.Client)[]>
local waiting = {}

local next_token = 1

local function say(message, level)
  vim.notify('askls: ' .. message, level or vim.log.levels.INFO)
end

--- Whether the server can be started; says what to do when it cannot.
local function server_is_there(level)
  if vim.fn.executable(options.cmd[1]) == 1 then
    return true
  end
  local what_to_do = 'install it with `cargo install --path .` in a clone of askls, or name it: '
    .. 'require("askls").setup{ cmd = { "/path/to/askls" } }'
  say(('cannot run `%s`; %s'):format(options.cmd[1], what_to_do), level)
  return false
end

local function is_file(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  return vim.bo[bufnr].buftype == '' and name ~= '' and not name:match('^%a[%w+.-]+://')
end

local function root_of(bufnr)
  return is_file(bufnr) and vim.fs.root(bufnr, '.git') or vim.fn.getcwd()
end

--- Shows the newest progress in the command line, cut so that it never asks for a key press.
local function echo(text)
  vim.api.nvim_echo({ { vim.fn.strcharpart(text, 0, math.max(vim.v.echospace, 1)) } }, false, {})
  vim.cmd.redrawstatus()
end

local function on_progress(event)
  local client = vim.lsp.get_client_by_id(event.data.client_id)
  local token, value = event.data.params.token, event.data.params.value
  if not client or client.name ~= NAME or type(value) ~= 'table' then
    return
  end
  if value.kind == 'end' then
    -- The answer comes now, and a question about its edits should not hide it.
    screen.expect(client.id, running[token] and running[token].request_id)
    -- Of the other turns a response brings the answer.
    if running[token] and running[token].request_id then
      unfinished[token] = { answer = value.answer, threadId = value.threadId }
    end
    running[token] = nil
    return echo('askls: ' .. (value.message or 'done'))
  end
  -- A report without a message leaves the last one standing.
  running[token] = running[token] or { client_id = client.id, text = value.title or '' }
  running[token].text = value.message or running[token].text
  echo('askls: ' .. running[token].text)
end

--- Neovim itself says it when the server died; what is left is to forget its turns, for it sent no end.
local function on_exit(_, _, client_id)
  waiting[client_id] = nil
  question.close(client_id)
  if last_thread and last_thread.client_id == client_id then
    last_thread = nil
  end
  for token, turn in pairs(running) do
    if turn.client_id == client_id then
      running[token] = nil
    end
  end
  vim.cmd.redrawstatus()
end

--- Has the lenses of proposed edits drawn, which Neovim asks for only when it is told to; other servers are left alone.
local function refresh_lenses(bufnr)
  local draw = vim.lsp.codelens.on_codelens
  for _, client in ipairs(draw and vim.lsp.get_clients({ name = NAME, bufnr = bufnr }) or {}) do
    local params = { textDocument = vim.lsp.util.make_text_document_params(bufnr) }
    local _, request_id = client:request('textDocument/codeLens', params, draw, bufnr)
    screen.expect(client.id, request_id)
  end
end

--- Sends `askls.ask`; the answer goes to the answer window.
---@param client vim.lsp.Client
---@param arguments { prompt: string, uri?: string, range?: table, threadId?: string }
local function send_ask(client, arguments, bufnr)
  local token = ('askls-nvim-%d'):format(next_token)
  next_token = next_token + 1
  running[token] = { client_id = client.id, text = 'starting' }
  local function remember(thread_id)
    last_thread = thread_id and { client_id = client.id, id = thread_id } or last_thread
  end
  local is_answered = false
  local is_sent, request_id = client:request('workspace/executeCommand', {
    command = 'askls.ask',
    arguments = { arguments },
    workDoneToken = token,
  }, function(failure, result)
    running[token] = nil
    is_answered = true
    if failure then
      return say(failure.message, vim.log.levels.ERROR)
    end
    remember(result.threadId)
    if result.background then
      return say('works on it in the background')
    end
    answer.show(arguments.prompt, result)
  end, bufnr)
  if not is_sent then
    running[token] = nil
    return
  end
  running[token].request_id = request_id
  -- Neovim drops the response to an ask that was stopped; what an earlier one answered must not pass for its answer.
  screen.after_response(client.id, request_id, function()
    local told = unfinished[token] or {}
    unfinished[token] = nil
    if not is_answered then
      remember(told.threadId)
      local detail = told.threadId and '`:AskContinue` asks on, to have the rest.' or ''
      answer.show(
        arguments.prompt,
        { answer = told.answer, threadId = told.threadId, stopReason = 'cancelled', detail = detail }
      )
    end
  end)
end

local function config()
  local commands = {
    -- Code actions ("Explain with agent") are asks too: their answers belong into the same window.
    ['askls.ask'] = function(command, context)
      local client = assert(vim.lsp.get_client_by_id(context.client_id))
      send_ask(client, command.arguments[1], context.bufnr)
    end,
  }
  return {
    name = NAME,
    cmd = options.cmd,
    commands = commands,
    handlers = screen.handlers,
    capabilities = vim.tbl_deep_extend('force', vim.lsp.protocol.make_client_capabilities(), {
      experimental = { asklsQuestionEnded = true },
    }),
    -- The window shows the answer, so the server need not; with `background` only the server can.
    init_options = vim.tbl_extend(
      'keep',
      options.settings,
      { show_answer = options.settings.background == 'always' and 'document' or 'none' }
    ),
    root_dir = function(bufnr, on_dir)
      if is_file(bufnr) then
        on_dir(root_of(bufnr))
      end
    end,
    on_init = function(client)
      for _, action in ipairs(waiting[client.id] or {}) do
        action(client)
      end
      waiting[client.id] = nil
    end,
    on_exit = vim.schedule_wrap(on_exit),
  }
end

--- Starts the server for a buffer, or takes the one that already serves its root.
---@return integer? client_id
local function start(bufnr)
  local started = vim.tbl_extend('force', config(), { root_dir = root_of(bufnr) })
  return vim.lsp.start(started, { bufnr = bufnr, attach = is_file(bufnr) })
end

--- Calls `action` with the buffer's client, once it is ready.
local function with_client(bufnr, action)
  local client = vim.lsp.get_clients({ name = NAME, bufnr = bufnr })[1]
  if not client and not is_file(bufnr) then
    client = vim.lsp.get_clients({ name = NAME })[1]
  end
  if not client then
    if not server_is_there(vim.log.levels.ERROR) then
      return
    end
    local id = start(bufnr)
    client = id and vim.lsp.get_client_by_id(id)
  end
  if not client then
    return say('the server did not start; ' .. vim.lsp.get_log_path() .. ' may say why', vim.log.levels.ERROR)
  end
  if client.initialized then
    return action(client)
  end
  waiting[client.id] = waiting[client.id] or {}
  table.insert(waiting[client.id], action)
end

--- Asks the agent. The buffer goes along as the place where the user is; so does the range, where there is one.
---@param prompt string
---@param lines? [integer, integer] first and last line, counted from 1
---@param thread? { client_id: integer, id: string } the thread to go on with; default: a new one
function M.ask(prompt, lines, thread)
  local bufnr = vim.api.nvim_get_current_buf()
  local function send(client)
    local arguments = { prompt = prompt, threadId = thread and thread.id }
    if is_file(bufnr) then
      arguments.uri = vim.uri_from_bufnr(bufnr)
      arguments.range = lines and place.range(bufnr, lines[1], lines[2], client.offset_encoding)
    end
    send_ask(client, arguments, bufnr)
  end
  local client = thread and vim.lsp.get_client_by_id(thread.client_id)
  if client then
    return send(client)
  end
  with_client(bufnr, send)
end

--- Asks on in the thread that was asked last: the agent knows what was said in it, what was allowed for it still is, and
--- its background jobs are within reach.
---@param prompt string
---@param lines? [integer, integer] first and last line, counted from 1
function M.continue(prompt, lines)
  if not last_thread then
    return say('there is nothing to continue yet: `:Ask` starts a thread', vim.log.levels.WARN)
  end
  M.ask(prompt, lines, last_thread)
end

--- Shows which model answers, what is set and what runs, in a window below.
function M.show_status()
  local bufnr = vim.api.nvim_get_current_buf()
  with_client(bufnr, function(client)
    client:request('workspace/executeCommand', { command = 'askls.status', arguments = {} }, function(failure, result)
      if failure then
        return say(failure.message, vim.log.levels.ERROR)
      end
      answer.show_status(result.text)
    end, bufnr)
  end)
end

--- Has the agent fix what any server, or a linter, says of the line: asks which when it says several things. Neovim's
--- own menu gives each server only its own diagnostics.
function M.fix()
  local bufnr = vim.api.nvim_get_current_buf()
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  local diagnostics = vim.tbl_filter(function(diagnostic)
    return diagnostic.source ~= NAME
  end, vim.diagnostic.get(bufnr, { lnum = line }))
  if #diagnostics == 0 then
    return say('there is no diagnostic on this line', vim.log.levels.WARN)
  end
  with_client(bufnr, function()
    vim.lsp.buf.code_action({
      apply = true,
      context = { diagnostics = vim.lsp.diagnostic.from(diagnostics) },
      filter = function(action)
        return vim.startswith(action.title, 'Fix with agent: ')
      end,
    })
  end)
end

--- Stops every running ask, and what agents left running in the background.
function M.stop()
  for _, client in ipairs(vim.lsp.get_clients({ name = NAME })) do
    client:request('workspace/executeCommand', { command = 'askls.stop', arguments = {} }, function(failure)
      if failure then
        say(failure.message, vim.log.levels.ERROR)
      end
    end)
  end
end

--- Takes back all that was applied of the newest turn, or applies it again. What came of it, the server says itself.
---@param command 'askls.undoTurn'|'askls.redoTurn'
local function undo_or_redo(command)
  local bufnr = vim.api.nvim_get_current_buf()
  with_client(bufnr, function(client)
    client:request('workspace/executeCommand', { command = command, arguments = {} }, function(failure)
      if failure then
        say(failure.message, vim.log.levels.ERROR)
      end
    end, bufnr)
  end)
end

--- Takes back the newest turn in all its files.
function M.undo()
  undo_or_redo('askls.undoTurn')
end

--- Applies again what was undone last.
function M.redo()
  undo_or_redo('askls.redoTurn')
end

--- What the agent is doing, for a status line: `%{v:lua.require'askls'.status()}`. Empty when it does nothing.
---@return string
function M.status()
  local _, turn = next(running)
  return turn and ('askls: ' .. turn.text) or ''
end

--- Lets `:help askls` find its page: who only adds a folder to 'runtimepath' makes no tags of it. Where the folder cannot
--- be written, who installed it there has made them.
local function make_help_tags()
  local folder = vim.fs.joinpath(vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, 'S').source:sub(2))), 'doc')
  if vim.fn.getftime(folder .. '/askls.txt') > vim.fn.getftime(folder .. '/tags') then
    pcall(vim.cmd.helptags, vim.fn.fnameescape(folder))
  end
end

--- Starts askls for every file from now on, and creates the commands.
---@param given? askls.Options
function M.setup(given)
  options = vim.tbl_deep_extend('force', { cmd = { 'askls' }, settings = {} }, given or {})
  -- A list is taken whole: `setup{ cmd = { "askls" } }` must not keep arguments of a longer default.
  options.cmd = given and given.cmd or options.cmd

  make_help_tags()
  local group = vim.api.nvim_create_augroup('askls', {})
  screen.setup(group)
  vim.api.nvim_create_autocmd('LspProgress', { group = group, callback = on_progress })
  -- The hints at proposed edits come and go with the edits, and so does what stands above them.
  vim.api.nvim_create_autocmd({ 'LspAttach', 'DiagnosticChanged', 'BufEnter', 'InsertLeave' }, {
    group = group,
    callback = function(event)
      refresh_lenses(event.buf)
    end,
  })
  vim.api.nvim_create_user_command('Ask', function(command)
    M.ask(command.args, command.range > 0 and { command.line1, command.line2 } or nil)
  end, { nargs = '+', range = true, desc = 'Ask the agent' })
  vim.api.nvim_create_user_command('AskContinue', function(command)
    M.continue(command.args, command.range > 0 and { command.line1, command.line2 } or nil)
  end, { nargs = '+', range = true, desc = 'Ask on in the last thread' })
  vim.api.nvim_create_user_command('AskStatus', M.show_status, { desc = 'Show which model answers and what runs' })
  vim.api.nvim_create_user_command('AskFix', M.fix, { desc = 'Have the agent fix what is said of this line' })
  vim.api.nvim_create_user_command('AskStop', M.stop, { desc = 'Stop the agent' })
  vim.api.nvim_create_user_command('AskUndo', M.undo, { desc = 'Undo the newest turn of the agent in all its files' })
  vim.api.nvim_create_user_command('AskRedo', M.redo, { desc = 'Redo the turn that was undone last' })

  if not server_is_there(vim.log.levels.WARN) then
    return
  end
  vim.lsp.config(NAME, config())
  vim.lsp.enable(NAME)
  -- `vim.lsp.enable` goes by file types, and some files have none.
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, {
    group = group,
    callback = vim.schedule_wrap(function(event)
      if vim.api.nvim_buf_is_loaded(event.buf) and vim.bo[event.buf].filetype == '' and is_file(event.buf) then
        start(event.buf)
      end
    end),
  })
end

return M
