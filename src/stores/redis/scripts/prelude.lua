-- What every verb of a record begins with, after clock.lua: the record as it is stored (`stored`, text) and as
-- it is now (`record`, with numbers as numbers; nil when there is none). The rules mirror
-- src/core/transition.cpp, word for word where Lua has the word; the conformance suite holds the two together.
--
-- A script of a record without marks and events touches one key, so that a cluster can move slots under running
-- traffic.
--   KEYS[1]  the record
--   ARGV[2]  the scope in hex, or nothing when the caller has no scope
local key = KEYS[1]
local prefix = string.sub(key, 1, -19) -- before `{`, 16 digits and `}`

local STATES = {claimed = 1, processing = 1, succeeded = 1, failed = 1, released = 1, unknown = 1, expired = 1}
local NUMBERS = {'epoch', 'fingerprint_version', 'created_at', 'claimed_at', 'updated_at', 'lease_until',
  'hold_until', 'expires_at', 'ttl', 'receipt_ttl'}
local NUMBERS_IF_ANY = {'status_seen', 'bytes_seen', 'status', 'unique_keep', 'suspect_keep'}
local TEXTS = {'scope', 'operation_id', 'owner', 'tenant', 'operation', 'key_hint', 'owner_tag', 'leaves'}

local function is_held(state) return state == 'claimed' or state == 'processing' end
local function is_open(state) return is_held(state) or state == 'unknown' end
local function is_final(state) return state == 'succeeded' or state == 'failed' or state == 'expired' end

local function whole(text) return text and string.match(text, '^%d+$') and tonumber(text) end

-- Numbers made of a stored record's text, or nil and what is wrong with it.
local function parse(text)
  if text.v ~= '1' then return nil, 'written by a newer version, or damaged' end
  if not STATES[text.state] then return nil, 'its state is not one' end
  local parsed = {}
  for field, value in pairs(text) do parsed[field] = value end
  for _, field in ipairs(TEXTS) do
    if not text[field] then return nil, field .. ' is missing' end
  end
  for _, field in ipairs(NUMBERS) do
    parsed[field] = whole(text[field])
    if not parsed[field] then return nil, field .. ' is not a number' end
  end
  for _, field in ipairs(NUMBERS_IF_ANY) do
    if text[field] then
      parsed[field] = whole(text[field])
      if not parsed[field] then return nil, field .. ' is not a number' end
    end
  end
  return parsed
end

local function load()
  local flat = redis.pcall('HGETALL', key)
  if flat.err then return nil, nil, flat.err end
  if #flat == 0 then return nil, nil, nil end
  local text = {}
  for i = 1, #flat, 2 do text[flat[i]] = flat[i + 1] end
  local parsed, damage = parse(text)
  return text, parsed, damage
end

local function clear_evidence(r)
  r.cause, r.status_seen, r.bytes_seen, r.earlier_too = nil, nil, nil, nil
end

local function clear_response(r)
  r.status, r.body_omitted, r.headers, r.body = nil, nil, nil, nil
end

local function clear_result(r)
  r.resource_type, r.resource_id, r.failure_code = nil, nil, nil
end

local function clear_marks(r)
  r.unique_mark, r.unique_keep, r.unique_refuses = nil, nil, nil
  r.suspect_mark, r.suspect_keep, r.suspect_refuses = nil, nil, nil
end

-- The response in the arguments from `at` on: 'yes', status, body_omitted, headers, body. Not 'yes': none.
local function take_response(r, at)
  clear_response(r)
  if ARGV[at] ~= 'yes' then return end
  r.status, r.headers, r.body = tonumber(ARGV[at + 1]), ARGV[at + 3], ARGV[at + 4]
  if ARGV[at + 2] == 'yes' then r.body_omitted = 'yes' end
end

-- The result in the arguments from `at` on: 'yes', resource type, resource id, failure code. Not 'yes': none.
local function take_result(r, at)
  clear_result(r)
  if ARGV[at] ~= 'yes' then return end
  r.resource_type, r.resource_id, r.failure_code = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
end

local function receipt_of(r)
  if r.state ~= 'expired' then r.updated_at = r.expires_at end
  r.state = 'expired'
  r.leaves, r.probe_target = '', nil
  clear_response(r)
  clear_marks(r) -- a mark that still stands says so itself
  return r
end

-- The record as it is now: lapsed leases and passed ttls applied. Nothing: it is gone.
local function settle(r)
  if r.state == 'processing' and now >= r.lease_until then -- I4: it may have run
    local earlier_too = r.earlier_too
    clear_evidence(r)
    r.state, r.cause, r.earlier_too, r.updated_at = 'unknown', 'owner_lost', earlier_too, r.lease_until
  elseif is_final(r.state) and now >= r.expires_at then
    if now >= r.expires_at + r.receipt_ttl then return nil end
    return receipt_of(r)
  elseif r.state == 'released' and now >= r.expires_at then
    return nil
  end
  return r
end

local function goes_by_itself(state) return is_final(state) or state == 'released' end

local stored, record, damage = load()
if damage then return {'unreadable', damage} end
if stored and ARGV[2] ~= '' and stored.scope ~= ARGV[2] then return {'collision'} end
if record then record = settle(record) end

-- Writes what differs from what is stored. I9: only what is final or released ever gets an expiry.
local function save(r)
  local put, drop = {}, {}
  local before = stored or {}
  for field, value in pairs(r) do
    local text = text_of(value)
    if before[field] ~= text then
      put[#put + 1] = field
      put[#put + 1] = text
    end
  end
  for field in pairs(before) do
    if r[field] == nil then drop[#drop + 1] = field end
  end
  if #put > 0 then redis.call('HSET', key, unpack(put)) end
  if #drop > 0 then redis.call('HDEL', key, unpack(drop)) end
  if goes_by_itself(r.state) then
    local gone_at = r.expires_at
    if is_final(r.state) then gone_at = gone_at + r.receipt_ttl end
    redis.call('PEXPIREAT', key, text_of(gone_at + EXPIRY_SLACK_MS))
  elseif stored and goes_by_itself(stored.state) then
    redis.call('PERSIST', key)
  end
end

-- Whoever waits for this record listens on a channel of its key's name. Nobody may, and a user may lack the
-- right to publish: a wake-up that is lost is found by asking again.
local function wake() redis.pcall('PUBLISH', key, 'changed') end

local function reply(code, r, without_response)
  local out = {code}
  for field, value in pairs(r) do
    if not (without_response and (field == 'headers' or field == 'body')) then
      out[#out + 1] = field
      out[#out + 1] = text_of(value)
    end
  end
  return out
end
