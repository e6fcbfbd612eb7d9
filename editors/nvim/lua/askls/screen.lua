--- What the server shows and asks. Neovim draws nothing while it asks, so a question waits until what it is about is on
--- the screen.
local question = require('askls.question')

local M = {}

--- Longest wait for what a question is about: longer than a server takes for it, and short enough for its user.
local LONGEST_HOLD_MS = 1000
--- Lines that a diff takes at most, so that the file that it changes stays in sight.
local MAX_HEIGHT = 20
--- Lines that Neovim's own question covers at the bottom of the screen.
local QUESTION_HEIGHT = 5

--- The responses to come before the next question: `client id:request id` -> true.
---@type table<string, true>
local expected = {}

--- What follows a response, whatever it is: `client id:request id` -> what.
---@type table<string, fun()>
local following = {}

--- What goes on once they are here.
---@type fun()[]
local held = {}

local function release()
  local released = held
  expected, held = {}, {}
  for _, go_on in ipairs(released) do
    go_on()
  end
end

local function key_of(client_id, request_id)
  return ('%d:%d'):format(client_id, request_id)
end

--- Has questions wait for this response.
---@param client_id integer
---@param request_id integer?
function M.expect(client_id, request_id)
  if request_id then
    expected[key_of(client_id, request_id)] = true
  end
end

--- Calls `action` once the response has been dealt with, or dropped, as Neovim does with those of cancelled requests.
---@param client_id integer
---@param request_id integer
function M.after_response(client_id, request_id, action)
  following[key_of(client_id, request_id)] = action
end

local function on_request(event)
  if event.data.request.type ~= 'complete' then
    return
  end
  local key = key_of(event.data.client_id, event.data.request_id)
  if not expected[key] and not following[key] then
    return
  end
  -- The response is told of before it is dealt with.
  vim.schedule(function()
    local follow = following[key]
    expected[key], following[key] = nil, nil
    if follow then
      follow()
    end
    if next(expected) == nil then
      release()
    end
  end)
end

--- `window/showMessageRequest`.
local function on_question(failure, params, context)
  local asking = coroutine.running()
  if asking and next(expected) ~= nil then
    local goes_on = false
    local function go_on()
      if not goes_on then
        goes_on = true
        assert(coroutine.resume(asking))
      end
    end
    table.insert(held, vim.schedule_wrap(go_on))
    -- A server that is gone answers nothing any more.
    vim.defer_fn(go_on, LONGEST_HOLD_MS)
    coroutine.yield()
  end
  if asking and question.has_no_picker() then
    return question.ask(context.client_id, params)
  end
  vim.cmd.redraw()
  -- CTRL-C in a list of Neovim's is an error.
  local is_answered, choice = pcall(vim.lsp.handlers['window/showMessageRequest'], failure, params, context)
  return is_answered and choice or vim.NIL
end

--- `askls/questionEnded`: nobody waits for its answer any more.
local function on_question_ended(_, params, context)
  question.close(context.client_id, params.message)
end

--- `window/showDocument`: askls shows only what it wrote itself, answers and diffs. They open below what the user looks
--- at, in one window that `q` closes.
local function on_document(_, params)
  local from = vim.api.nvim_get_current_win()
  local bufnr = vim.fn.bufadd(vim.uri_to_fname(params.uri))
  local window = vim.fn.bufwinid(bufnr)
  if window == -1 then
    for _, other in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      window = vim.w[other].askls_document and other or window
    end
  end
  if window == -1 then
    window = vim.api.nvim_open_win(0, params.takeFocus == true, { split = 'below', win = -1 })
    vim.w[window].askls_document = true
  elseif params.takeFocus then
    vim.api.nvim_set_current_win(window)
  end
  if from ~= window then
    vim.w[window].askls_from = from
  end
  vim.api.nvim_win_set_buf(window, bufnr)
  vim.api.nvim_win_call(window, function()
    vim.cmd.edit({ bang = true }) -- its file may have been written anew
  end)
  vim.api.nvim_win_set_height(window, math.min(vim.api.nvim_buf_line_count(bufnr) + QUESTION_HEIGHT, MAX_HEIGHT))
  vim.keymap.set('n', 'q', function()
    local file = vim.w.askls_from
    vim.cmd.close()
    if file and vim.api.nvim_win_is_valid(file) then
      vim.api.nvim_set_current_win(file)
    end
  end, { buffer = bufnr, desc = 'Close what the agent shows, and go back' })
  return { success = true }
end

--- What a client of the server does with its requests.
M.handlers = {
  ['window/showMessageRequest'] = on_question,
  ['window/showDocument'] = on_document,
  ['askls/questionEnded'] = on_question_ended,
}

function M.setup(group)
  vim.api.nvim_create_autocmd('LspRequest', { group = group, callback = on_request })
end

return M
