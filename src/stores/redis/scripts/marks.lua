-- What a claim takes besides its record, as src/core/marks.cpp has it. A mark is a hash of its own, beside the
-- record; these scripts touch several keys and are for servers that keep them all.
local function mark_key(mark) return prefix .. 'mark:' .. mark end

local function load_mark(mark)
  local found = redis.call('HMGET', mark_key(mark), 'kind', 'record', 'scope', 'operation_id', 'until')
  if not (found[1] and found[2] and found[3] and found[4]) then
    if redis.call('EXISTS', mark_key(mark)) == 1 then error('a mark cannot be read: ' .. mark_key(mark)) end -- I5
    return nil
  end
  return {kind = found[1], record = found[2], scope = found[3], operation_id = found[4], ends = tonumber(found[5])}
end

local function is_held_by(entry, scope, id) return entry.scope == scope and entry.operation_id == id end

local function stands(entry)
  local holder = redis.call('HMGET', entry.record, 'scope', 'operation_id', 'state', 'lease_until', 'earlier_too')
  local state = holder[3]
  -- The key may have run again under another operation after its record was gone.
  local held = is_held_by(entry, holder[1], holder[2])
  if held then
    if state == 'released' or state == 'failed' then return false end
    if state == 'claimed' and now >= tonumber(holder[4]) and not holder[5] then return false end
  end
  if entry.ends then return now < entry.ends end
  return held and is_open(state)
end

local function write_mark(r, kind, ends)
  local name = mark_key(r[kind .. '_mark'])
  -- First what a full server refuses, so that it refuses before anything is written.
  redis.call('HSET', name, 'kind', kind, 'record', key, 'scope', r.scope, 'operation_id', r.operation_id)
  if ends then
    redis.call('HSET', name, 'until', text_of(ends))
    redis.call('PEXPIREAT', name, text_of(ends + EXPIRY_SLACK_MS))
  else
    redis.call('HDEL', name, 'until')
    redis.call('PERSIST', name)
  end
end

-- The marks in the arguments from `at` on, the unique one first: mark or nothing, how long it is kept, whether it
-- refuses. Returns what of another's stands, and whether that refuses. `id` is the operation that claims.
local function meet_marks(at, id)
  local met
  for i = at, at + 3, 3 do
    local entry = ARGV[i] ~= '' and load_mark(ARGV[i])
    if entry and not is_held_by(entry, ARGV[2], id) and stands(entry) then
      if ARGV[i + 2] == 'yes' then return entry, true end
      met = met or entry
    end
  end
  return met, false
end

-- The entries of a record's marks, to be read before anything is written: the server undoes nothing of a script
-- that meets one that cannot be read.
local function load_marks(r)
  return {unique = r.unique_mark and load_mark(r.unique_mark), suspect = r.suspect_mark and load_mark(r.suspect_mark)}
end

-- What a record that is claimed again no longer has ends here: nobody else would end it.
local function leave_marks(left, entries, may_be_true)
  for kind, entry in pairs(entries) do
    if entry and is_held_by(entry, left.scope, left.operation_id) then
      if not may_be_true then
        redis.call('DEL', mark_key(left[kind .. '_mark']))
      elseif kind == 'unique' then
        write_mark(left, kind, now + left.unique_keep)
      end
    end
  end
end

local function take_marks(r, at)
  local left = {scope = r.scope, operation_id = r.operation_id, unique_keep = r.unique_keep}
  if r.unique_mark ~= ARGV[at] then left.unique_mark = r.unique_mark end
  if r.suspect_mark ~= ARGV[at + 3] then left.suspect_mark = r.suspect_mark end
  local entries = load_marks(left)
  clear_marks(r)
  if ARGV[at] ~= '' then
    r.unique_mark, r.unique_keep, r.unique_refuses = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
    write_mark(r, 'unique')
  end
  if ARGV[at + 3] ~= '' then
    r.suspect_mark, r.suspect_keep, r.suspect_refuses = ARGV[at + 3], tonumber(ARGV[at + 4]), ARGV[at + 5]
    write_mark(r, 'suspect', now + r.suspect_keep)
  end
  leave_marks(left, entries, r.earlier_too)
end

-- What the end of a record does to its marks. Another's entry is left alone.
local function end_marks(r, entries)
  for _, kind in ipairs({'unique', 'suspect'}) do
    local mark, entry = r[kind .. '_mark'], entries[kind]
    local mine = entry and is_held_by(entry, r.scope, r.operation_id)
    if mine and (r.state == 'failed' or r.state == 'released') then redis.call('DEL', mark_key(mark)) end
    -- Also when the entry is gone: its claim had lapsed, another took the mark over and gave it back.
    if mark and kind == 'unique' and r.state == 'succeeded' and (mine or not entry) then
      write_mark(r, kind, now + r.unique_keep)
    end
  end
end

local function add_standing(out, entry)
  if not entry then return out end
  for _, field in ipairs({'kind', 'scope', 'operation_id'}) do
    out[#out + 1] = 'standing_' .. field
    out[#out + 1] = entry[field]
  end
  return out
end
