--- What the Neovim drives share: a project in a temporary folder, the server's command line, waits that end on
--- conditions, and a runner that prints `N passed, N failed`. Loaded with `dofile` under `nvim -l`.
local here = vim.fs.dirname(vim.uv.fs_realpath(debug.getinfo(1, 'S').source:sub(2)))

local M = { progress = {}, messages = {}, notes = {}, questions = {} }

--- A condition that a healthy run meets in milliseconds; only a hanging one ever waits this long.
local PATIENCE_MS = 20000

--- The server's command line: the drive's own arguments.
M.cmd = {}
for i = 1, #arg do
  -- the drive changes its folder, so a path must not be relative
  M.cmd[i] = arg[i]:find('/') and vim.fn.fnamemodify(arg[i], ':p') or arg[i]
end
assert(#M.cmd > 0, 'usage: nvim -l DRIVE.lua SERVER [ARGUMENT...]')

M.main = { 'fn main() {', '    println!("hello \u{1F980}");', '}', '', '// ask: where is main defined?' }
M.root = vim.fs.normalize(vim.fn.tempname())
vim.fn.mkdir(M.root .. '/.git', 'p')
vim.fn.writefile(M.main, M.root .. '/main.rs')
vim.fn.writefile({ '[package]', 'name = "sample"' }, M.root .. '/Cargo.toml')
vim.cmd.cd(M.root)
vim.cmd('filetype on') -- `nvim -l` starts with it off

function M.wait(condition, what)
  if not vim.wait(PATIENCE_MS, condition, 10) then
    error('timed out waiting for ' .. what, 2)
  end
end

function M.equal(want, got, what)
  if not vim.deep_equal(want, got) then
    error(('%s: want %s, got %s'):format(what, vim.inspect(want), vim.inspect(got)), 2)
  end
end

function M.contains(part, text, what)
  if not (text or ''):find(part, 1, true) then
    error(('%s: want something with %q, got %s'):format(what, part, vim.inspect(text)), 2)
  end
end

vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    table.insert(M.progress, vim.deepcopy(event.data.params.value))
  end,
})
vim.lsp.handlers['window/showMessage'] = function(_, params)
  table.insert(M.messages, params.message)
end
vim.notify = function(message)
  table.insert(M.notes, message)
end

--- Neovim's own, which a test may put back.
M.builtin_select = vim.ui.select
--- The title that the next questions are answered with; nil dismisses them.
M.choose = nil
--- Called when a question is asked, to look at what its user has before them.
M.at_question = function() end
M.select = function(items, options, callback)
  local format = options.format_item or tostring
  local titles = vim.tbl_map(format, items)
  table.insert(M.questions, { kind = options.kind, prompt = options.prompt, titles = titles })
  M.at_question()
  for i, title in ipairs(titles) do
    if title == M.choose then
      return vim.schedule(function()
        callback(items[i], i)
      end)
    end
  end
  vim.schedule(function()
    callback(nil, nil)
  end)
end

vim.ui.select = M.select

function M.reset()
  M.progress, M.messages, M.notes, M.questions = {}, {}, {}, {}
  M.at_question = function() end
end

function M.kinds()
  return vim.tbl_map(function(value)
    return value.kind
  end, M.progress)
end

--- One begin, then only reports, then one end.
function M.check_progress()
  local kinds = M.kinds()
  M.equal('begin', kinds[1], 'the first progress')
  M.equal('end', kinds[#kinds], 'the last progress')
  for i = 2, #kinds - 1 do
    M.equal('report', kinds[i], 'progress ' .. i)
  end
end

function M.progress_has_ended()
  return M.kinds()[#M.progress] == 'end'
end

--- Does what editors/README.md says for a Neovim without the plugin.
function M.follow_readme()
  M.equal('askls', vim.fs.basename(M.cmd[1]), 'the name of the server, as the README has it in PATH')
  vim.env.PATH = vim.fs.dirname(M.cmd[1]) .. ':' .. vim.env.PATH
  local readme = table.concat(vim.fn.readfile(here .. '/../../editors/README.md'), '\n')
  local lines = assert(readme:match('\n## Neovim\n.-```lua\n(.-)```'), 'the README has no such lines')
  assert(loadstring(lines))()
end

--- Opens a file of the project as it is on disk, main.rs unless another is named, and returns its buffer and its client
--- named `name`.
function M.open(name, file)
  vim.cmd.edit({ M.root .. '/' .. (file or 'main.rs'), bang = true })
  local bufnr = vim.api.nvim_get_current_buf()
  local function clients()
    return vim.lsp.get_clients({ bufnr = bufnr, name = name })
  end
  M.wait(function()
    return #clients() == 1 and clients()[1].initialized
  end, name .. ' to attach')
  return bufnr, clients()[1]
end

function M.text(bufnr)
  return vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
end

--- Sends a command as `exec_cmd` does it for a user.
function M.run(client, bufnr, command, argument, handler)
  local request = { title = command, command = command, arguments = argument and { argument } or {} }
  client:exec_cmd(request, { bufnr = bufnr }, handler)
end

--- Sends a command and waits for its result.
function M.result_of(client, bufnr, command, argument)
  local done, failure, result
  M.run(client, bufnr, command, argument, function(...)
    done, failure, result = true, ...
  end)
  M.wait(function()
    return done
  end, command)
  M.equal(nil, failure and failure.message, command .. ' failed')
  return result
end

--- A model server that says these words to each ask, and then nothing more, or never a word: a turn with it runs until it
--- is stopped.
---@param words? string
---@return string base_url
local function endless_model_server(words)
  local server = assert(vim.uv.new_tcp())
  local held = { server } -- what nothing holds is collected, and closed
  M.held = held
  local delta = vim.json.encode({ choices = { { index = 0, delta = { role = 'assistant', content = words } } } })
  assert(server:bind('127.0.0.1', 0))
  server:listen(16, function()
    local connection = assert(vim.uv.new_tcp())
    server:accept(connection)
    connection:read_start(function(_, request)
      if not words or not request then
        return
      elseif vim.startswith(request, 'POST ') then
        local head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'
        connection:write(head .. 'data: ' .. delta .. '\n\n')
      elseif vim.startswith(request, 'GET ') then
        connection:write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
      end
    end)
    table.insert(held, connection)
  end)
  return ('http://127.0.0.1:%d/v1'):format(server:getsockname().port)
end

--- The settings that send a turn to a model server that calls `run_command`, and says `Done.` when it has the output.
---@param command string
---@return table settings
function M.commanding_model_settings(command)
  local server = assert(vim.uv.new_tcp())
  M.held = { server }
  assert(server:bind('127.0.0.1', 0))
  local function event(choice)
    return 'data: ' .. vim.json.encode({ choices = { choice } }) .. '\n\n'
  end
  local arguments = vim.json.encode({ command = command })
  local call = { index = 0, id = 'call-1', type = 'function', ['function'] = { name = 'run_command', arguments = arguments } }
  local calling = event({ index = 0, delta = { role = 'assistant', tool_calls = { call } } })
    .. event({ index = 0, delta = vim.empty_dict(), finish_reason = 'tool_calls' })
  local saying = event({ index = 0, delta = { role = 'assistant', content = 'Done.' } })
    .. event({ index = 0, delta = vim.empty_dict(), finish_reason = 'stop' })
  server:listen(16, function()
    local connection = assert(vim.uv.new_tcp())
    server:accept(connection)
    table.insert(M.held, connection)
    local request = ''
    connection:read_start(function(_, piece)
      request = request .. (piece or '')
      local head, body = request:match('^(.-)\r\n\r\n(.*)$')
      if not head or #body < tonumber(head:lower():match('content%-length: (%d+)') or 0) then
        return
      end
      request = ''
      if vim.startswith(head, 'GET ') then
        return connection:write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n')
      end
      -- After the last words of the user there is an output, or not.
      local last = body:match('.*"role":"(%a+)"')
      local answer = (last == 'tool' and saying or calling) .. 'data: [DONE]\n\n'
      local reply = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n' .. answer
      connection:write(reply, function()
        connection:close()
      end)
    end)
  end)
  local address = ('http://127.0.0.1:%d/v1'):format(server:getsockname().port)
  return { base_url = address, model = 'commanding', wire = 'chat' }
end

--- The settings that send a turn to a server that accepts every connection and never says a word.
function M.silent_model_settings()
  return { base_url = endless_model_server(), model = 'silent', wire = 'chat' }
end

--- The same with a server that begins its answer with these words, and never ends it.
---@param words string
function M.endless_model_settings(words)
  return { base_url = endless_model_server(words), model = 'endless', wire = 'chat' }
end

local tests = {}
function M.test(rule, run)
  table.insert(tests, { rule, run })
end

--- Runs every test in order, and ends Neovim with the result.
function M.finish()
  local passed, failed = 0, 0
  for _, test in ipairs(tests) do
    local start = vim.uv.hrtime()
    M.reset()
    local ok, failure = xpcall(test[2], tostring)
    local took = (vim.uv.hrtime() - start) / 1e6
    io.stdout:write(('%s %s (%d ms)\n'):format(ok and 'ok  ' or 'FAIL', test[1], took))
    if ok then
      passed = passed + 1
    else
      failed = failed + 1
      io.stdout:write('     ' .. failure:gsub('\n', '\n     ') .. '\n')
      io.stdout:write('     said: ' .. vim.inspect({ M.messages, M.notes, M.questions }):gsub('%s+', ' ') .. '\n')
    end
  end
  vim.fn.delete(M.root, 'rf')
  io.stdout:write(('%d passed, %d failed\n'):format(passed, failed))
  os.exit((failed == 0 and passed > 0) and 0 or 1)
end

return M
