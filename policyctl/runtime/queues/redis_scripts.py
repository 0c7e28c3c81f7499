"""The steps of a queue in Redis: each is one script, whole or not done at all.

They do what ``steps`` does in SQLite. All keys of a queue are given to every script and
share one hash slot, so that they work on a cluster; nothing else is touched. A script
checks first and writes after, since Redis takes nothing back. The first write of a step
that makes room is one that Redis allows when its memory is full.
The keys are those of ``redis_lua``.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from policyctl.runtime.queues.redis_lua import KEYS, MOVES, PRELUDE
from policyctl.runtime.stores.redis import Script

_PUT: Final = """
local token, spare, known = ARGV[3], tonumber(ARGV[4]), ARGV[5] == '1'
local states, fresh = {}, 0
for n = 6, #ARGV, 3 do
  local id = ARGV[n]
  local row = known and get(id)
  local dead = known and not row and redis.call('HGET', @deaths, id)
  if row then
    states[id] = row[11] == token and 'queued' or 'duplicate'
  elseif dead then
    states[id] = cmsgpack.unpack(dead)[11] == token and 'dead_letter' or 'duplicate'
  elseif known and is_finished(id) then
    states[id] = token == '' and 'queued' or 'duplicate'
  else
    fresh = fresh + 1
  end
end
if spare > 0 then
  for _ = 1, spare do
    local id, row = oldest()
    if not id then break end
    drop(id, row, 'overflow')
  end
end
local more = 0
for n = 6, #ARGV, 3 do
  if not states[ARGV[n]] then more = more + #ARGV[n + 1] end
end
if fresh > 0 and config.max_age and lacking(more, total.size + fresh - 1, total.bytes) then
  for _ = 1, 256 do
    local id, row = oldest()
    if not id or not is_old(row) or not die(id, row, 'max_age', '') then break end
  end
end
-- Limits are kept beside the items for programs that know the server alone.
local function whole(number) return number and string.format('%.0f', number) or '' end
local most_items, most_bytes = whole(config.max_size), whole(config.max_bytes)
local known_limits = redis.call('HMGET', @meta, 'max_size', 'max_bytes')
if known_limits[1] ~= most_items or known_limits[2] ~= most_bytes then
  redis.call('HSET', @meta, 'max_size', most_items, 'max_bytes', most_bytes)
end
local items, bytes, dead = total.size, total.bytes, total.dead
for n = 6, #ARGV, 3 do
  local size = #ARGV[n + 1]
  if not states[ARGV[n]] then
    local full = lacking(size, items, bytes)
    if not full then
      items, bytes = items + 1, bytes + size
    elseif config.overflow == 'drop_oldest' then
      local least = lacking(size, total.leased, total.leased_bytes)
      if least or not oldest() and total.size >= config.max_size then
        return {'full', full[1], full[2], full[3], save()}
      end
    elseif config.overflow == 'dead_letter' then
      dead = dead + 1
      if dead > config.dead_max then
        return {'full', total.dead, config.dead_max, 'dead letters', save()}
      end
    else
      return {'full', full[1], full[2], full[3], save()}
    end
  end
end
local outcomes = {}
for n = 6, #ARGV, 3 do
  local id, body, lane = ARGV[n], ARGV[n + 1], ARGV[n + 2]
  local outcome = states[id]
  if not outcome then
    local full = lacking(#body, total.size, total.bytes)
    if full and config.overflow == 'drop_oldest' then
      for _ = 1, 256 do
        local old, row = oldest()
        if not old then break end
        drop(old, row, 'overflow')
        if not lacking(#body, total.size, total.bytes) then break end
      end
      full = nil
    end
    total.put = total.put + 1
    if full then
      insert_dead(id, {0, lane, 0, now, #body, '', '', '', 0, 0, token}, 'queue_full', '', body)
      outcome = 'dead_letter'
    else
      insert(id, body, lane, token, '')
      outcome = 'queued'
    end
  end
  outcomes[#outcomes + 1] = outcome
end
return {'ok', outcomes, save()}
"""

_TAKE: Final = """
local count, lease, receipt = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
sweep()
local taken, heads = {}, {}
local function give(id, row, raw)
  row[3] = row[3] + 1
  row[6] = receipt
  place(id, row, 1, now + lease)
  taken[#taken + 1] = {id, body_of(id, raw), row[2], row[3], string.format('%.6f', row[4])}
end
while #taken < count do
  local ids = redis.call('ZRANGE', @ready, 0, count - #taken - 1)
  if #ids == 0 then break end
  for _, id in ipairs(ids) do
    local row, raw = get(id)
    if not row then
      redis.call('ZREM', @ready, id)
    elseif is_old(row) then
      die(id, row, 'max_age', '')
    else
      give(id, row, raw)
      if row[2] ~= '' then heads[#heads + 1] = {id, row} end
    end
  end
end
for _, first in ipairs(heads) do
  local room = count - #taken
  if room <= 0 then break end
  local lane = first[2][2]
  local members = redis.call('ZRANGEBYLEX', @lanes, '(' .. member(first[1], first[2]),
                             '(' .. lane .. '\\1', 'LIMIT', 0, room)
  for _, text in ipairs(members) do
    local id = string.sub(text, #lane + 18)
    local row = record(id)
    if not row or row[9] ~= 3 or row[10] > now or is_old(row) or is_spent(row) then
      break
    end
    give(id, row)
  end
end
return {taken, save()}
"""

_ACK: Final = """
local again = ARGV[3] == '1'
local done = {}
for n = 4, #ARGV, 2 do
  local id = ARGV[n]
  local row = held(id, ARGV[n + 1])
  if row then
    remove(id, row)
    total.acked = total.acked + 1
    redis.call('ZADD', @done, string.format('%.6f', now), id)
  end
  local finished = row or again and is_finished(id)
  done[#done + 1] = finished and 1 or 0
end
if math.floor(total.acked / 32) ~= math.floor((tonumber(found[7]) or 0) / 32) then
  redis.call('ZREMRANGEBYSCORE', @done, '-inf', string.format('(%.6f', now - FINISHED_KNOWN))
  redis.call('ZREMRANGEBYRANK', @done, 0, -100001)
end
return {done, save()}
"""

_NACK: Final = """
local done = {}
for n = 3, #ARGV, 5 do
  local id, delay, error = ARGV[n], tonumber(ARGV[n + 2]), ARGV[n + 3]
  local row = held(id, ARGV[n + 1])
  if row then
    if error ~= '' then row[7] = error end
    if ARGV[n + 4] == '0' then
      row[3] = math.max(0, row[3] - 1)
      give_back(id, row, delay)
    elseif is_spent(row) then
      die(id, row, 'max_deliveries', row[7])
    else
      give_back(id, row, delay)
    end
  end
  done[#done + 1] = row and 1 or 0
end
return {done, save()}
"""

_EXTEND: Final = """
local lease = tonumber(ARGV[3])
local done = {}
for n = 4, #ARGV, 2 do
  local row = held(ARGV[n], ARGV[n + 1])
  if row then place(ARGV[n], row, 1, now + lease) end
  done[#done + 1] = row and 1 or 0
end
return {done, save()}
"""

_BURY: Final = """
local row = held(ARGV[3], ARGV[4])
if row then die(ARGV[3], row, ARGV[5], ARGV[6]) end
return {row and 1 or 0, save()}
"""

_STATS: Final = """
local expired = 0
for _, id in ipairs(redis.call('ZRANGEBYSCORE', @later, '-inf',
                               string.format('%.6f', now), 'LIMIT', 0, 1000)) do
  local row = record(id)
  if row and row[9] == 1 then expired = expired + 1 end
end
local waiting = redis.call('ZCOUNT', @later, string.format('(%.6f', now), '+inf')
local first = redis.call('ZRANGE', @ready, 0, 0, 'WITHSCORES')
local other = redis.call('ZRANGE', @rest, 0, 0, 'WITHSCORES')
if not first[1] or other[1] and tonumber(other[2]) < tonumber(first[2]) then first = other end
local row = first[1] and get(first[1])
local age = row and math.max(0, now - row[4]) or 0
local leased = total.leased - expired
return {total.size - leased, math.max(0, waiting - leased), leased, total.size,
        total.bytes, total.dead, string.format('%.6f', age), total.put, total.acked,
        total.dropped, total.dead_lettered}
"""

_PEEK: Final = """
local shown = {}
for _, id in ipairs(redis.call('ZRANGE', @ready, 0, tonumber(ARGV[3]) - 1)) do
  local row, raw = get(id)
  if row then
    shown[#shown + 1] = {id, body_of(id, raw), row[2], row[3], string.format('%.6f', row[4])}
  end
end
return shown
"""

_SHOW: Final = """
local function show(id)
  local packed = redis.call('HGET', @deaths, id)
  if not packed then return nil end
  local row = cmsgpack.unpack(packed)
  local number = redis.call('ZSCORE', @dead, id) or '0'
  return {id, row[12], row[2], row[6], row[7], row[3], string.format('%.6f', row[4]),
          string.format('%.6f', row[10]), row[8], number}
end
"""

_DEAD: Final = """
local shown = {}
local ids = redis.call('ZRANGEBYSCORE', @dead, '(' .. ARGV[3], '+inf', 'LIMIT', 0,
                       tonumber(ARGV[4]))
for _, id in ipairs(ids) do shown[#shown + 1] = show(id) end
return shown
"""

_FIND: Final = """
return show(ARGV[3]) or false
"""

_CHOOSE: Final = """
local ids = {}
if ARGV[3] == 'all' then
  ids = redis.call('ZRANGE', @dead, 0, tonumber(ARGV[4]) - 1)
else
  for n = 5, #ARGV do
    if redis.call('HEXISTS', @deaths, ARGV[n]) == 1 then ids[#ids + 1] = ARGV[n] end
  end
end
local function forget(id)
  redis.call('HDEL', @deaths, id)
  redis.call('ZREM', @dead, id)
  total.dead = total.dead - 1
end
"""

_REDRIVE: Final = """
local moved = 0
for _, id in ipairs(ids) do
  local row = cmsgpack.unpack(redis.call('HGET', @deaths, id))
  local body = row[12]
  if lacking(#body, total.size, total.bytes) then break end
  local past = row[8] ~= '' and cjson.decode(row[8]) or {}
  table.insert(past, {reason = row[6], error = row[7] ~= '' and row[7] or cjson.null,
                      deliveries = row[3], died_at = row[10]})
  forget(id)
  insert(id, body, row[2], row[11], cjson.encode(past))
  moved = moved + 1
end
return {moved, save()}
"""

_PURGE: Final = """
for _, id in ipairs(ids) do forget(id) end
return {#ids, save()}
"""


# The usual put, one new item that fits, for a fraction of the work. Whatever else is the
# case is left to the script above: 0 says so, and nothing was done.
_PUT_ONE: Final = """
local total = redis.call('HMGET', @meta, 'size', 'bytes', 'next', 'warned', 'max_size', 'put',
                         'max_bytes')
local size, bytes, next = tonumber(total[1]) or 0, tonumber(total[2]) or 0, tonumber(total[3]) or 0
local id, body = ARGV[5], ARGV[6]
local above = size + 1 >= tonumber(ARGV[4])
if total[5] ~= ARGV[2] or total[7] ~= ARGV[3] then return 0 end
if size >= tonumber(ARGV[2]) or above ~= (total[4] == '1') then return 0 end
if ARGV[3] ~= '' and bytes + #body > tonumber(ARGV[3]) then return 0 end
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = tonumber(time[1]) + tonumber(time[2]) / 1000000
end
redis.call('HSET', @bodies, id, struct.pack('>dd', next, now) .. body)
redis.call('ZADD', @ready, next, id)
redis.call('HSET', @meta, 'size', size + 1, 'bytes', bytes + #body, 'next', next + 1,
           'put', (tonumber(total[6]) or 0) + 1)
return 1
"""


class QueueScript(NamedTuple):
    """A script and the names of the keys that it is given, in their order."""

    script: Script
    keys: tuple[str, ...]


def _script(*parts: str) -> QueueScript:
    """A script with the names of its keys put in as ``KEYS[n]``."""
    text = "".join(parts)
    keys = tuple(dict.fromkeys(re.findall(r"@(\w+)", text)))
    assert set(keys) <= set(KEYS)
    numbered = re.sub(r"@(\w+)", lambda m: f"KEYS[{keys.index(m[1]) + 1}]", text)
    return QueueScript(Script(numbered), keys)


SCRIPTS: Final = {
    "put_one": _script(_PUT_ONE),
    "put": _script(PRELUDE, MOVES, _PUT),
    "take": _script(PRELUDE, MOVES, _TAKE),
    "ack": _script(PRELUDE, MOVES, _ACK),
    "nack": _script(PRELUDE, MOVES, _NACK),
    "extend": _script(PRELUDE, MOVES, _EXTEND),
    "bury": _script(PRELUDE, MOVES, _BURY),
    "stats": _script(PRELUDE, _STATS),
    "peek": _script(PRELUDE, _PEEK),
    "dead": _script(PRELUDE, _SHOW, _DEAD),
    "find_dead": _script(PRELUDE, _SHOW, _FIND),
    "redrive": _script(PRELUDE, MOVES, _CHOOSE, _REDRIVE),
    "purge": _script(PRELUDE, MOVES, _CHOOSE, _PURGE),
}
