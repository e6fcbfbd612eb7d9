--- A question of the server in a window of its own: the editor goes on meanwhile, and the window goes when the question is
--- over. Neovim's own list waits for a key, and cannot be taken back.
local M = {}

--- The questions before the user.
---@type { client_id: integer, message: string, close: fun(choice: table?) }[]
local open = {}

--- Whether `vim.ui.select` is Neovim's own. A picker that the user has chosen is asked instead.
function M.has_no_picker()
  return vim.endswith(debug.getinfo(vim.ui.select, 'S').source, 'vim/ui.lua')
end

---@param actions { title: string }[]
---@param title string
local function offers(actions, title)
  return vim.iter(actions):any(function(action)
    return action.title == title
  end)
end

--- What closing a question means, by its answers: the server takes it for a no where it asks for a yes.
---@param actions { title: string }[]
local function closing(actions)
  if offers(actions, 'Deny') then
    return 'which means no'
  end
  return offers(actions, 'Reject') and 'which leaves the edits proposed' or 'which changes nothing'
end

--- The rows that lines take in a window as wide as the screen.
local function rows_of(lines)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / vim.o.columns))
  end
  return rows
end

--- Asks, and returns the action that the user chose, or `vim.NIL`. To be called in a coroutine.
---@param client_id integer
---@param params { message: string, actions: { title: string }[]? }
function M.ask(client_id, params)
  local asking = assert(coroutine.running())
  local actions = params.actions or {}
  local is_about_edits = offers(actions, 'Reject')
  local lines = vim.split(params.message, '\n')
  table.insert(lines, '')
  local before = #lines
  for number, action in ipairs(actions) do
    table.insert(lines, ('%d: %s'):format(number, action.title))
  end
  table.insert(lines, '')
  table.insert(lines, ('Its number and Enter choose an answer, `q` closes the question, %s.'):format(closing(actions)))

  local from = vim.api.nvim_get_current_win()
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].modifiable = false
  -- Who is typing does not mean the question with what they type.
  local is_free = vim.api.nvim_get_mode().mode == 'n'
  local height = math.max(1, math.min(rows_of(lines), vim.o.lines - 6))
  local window = vim.api.nvim_open_win(bufnr, is_free, { split = 'below', win = -1, height = height })
  vim.wo[window][0].wrap = true
  vim.wo[window][0].number = false
  vim.wo[window][0].relativenumber = false
  vim.wo[window][0].winfixheight = true

  local question = { client_id = client_id, message = params.message }
  function question.close(choice)
    if question.is_over then
      return
    end
    question.is_over = true
    open = vim.tbl_filter(function(other)
      return other ~= question
    end, open)
    -- Nothing of this may fail, since the server waits for the answer: the last window cannot be closed.
    vim.schedule(function()
      local was_in = vim.api.nvim_get_current_win() == window
      if vim.api.nvim_win_is_valid(window) and not pcall(vim.api.nvim_win_close, window, true) then
        pcall(vim.api.nvim_buf_delete, bufnr, { force = true })
      end
      if was_in and is_about_edits and vim.api.nvim_win_is_valid(from) and vim.w[from].askls_from then
        -- The review that the question was asked over goes with it.
        local file = vim.w[from].askls_from
        if pcall(vim.api.nvim_win_close, from, true) then
          from = file
        end
      end
      if was_in and vim.api.nvim_win_is_valid(from) then
        pcall(vim.api.nvim_set_current_win, from)
      end
      assert(coroutine.resume(asking, choice or vim.NIL))
    end)
  end
  table.insert(open, question)

  local function map(key, action)
    vim.keymap.set('n', key, action, { buffer = bufnr, nowait = true })
  end
  for number = 1, math.min(#actions, 9) do
    map(tostring(number), function()
      vim.api.nvim_win_set_cursor(window, { before + number, 0 })
    end)
  end
  map('<CR>', function()
    local chosen = actions[vim.api.nvim_win_get_cursor(window)[1] - before]
    if chosen then
      question.close(chosen)
    end
  end)
  for _, key in ipairs({ 'q', '<Esc>', '<C-c>' }) do
    map(key, function()
      question.close(nil)
    end)
  end
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = bufnr,
    callback = function()
      question.close(nil)
    end,
  })
  if not is_free then
    vim.notify('askls: the agent asks something in the window below (CTRL-W b goes there)', vim.log.levels.WARN)
  end
  vim.cmd.redraw()
  return coroutine.yield()
end

--- Closes questions of a client that are over: the one with this text, or all.
---@param client_id integer
---@param message? string
function M.close(client_id, message)
  for _, question in ipairs(vim.list_slice(open)) do
    if question.client_id == client_id and (message == nil or question.message == message) then
      question.close(nil)
    end
  end
end

return M
