"""The shared side of a circuit breaker: one hash, one script, the server's clock.

``KEYS[1]`` is the hash. ``ARGV[1]`` are the settings and ``ARGV[2]`` a list of steps,
both JSON, ``ARGV[3]`` is a random number from 0 to 1 for jitter. Times are microseconds:

- ``["c", version, total, failed, slow, trailing]`` attempts since the last report, the
  last ``trailing`` of them failures in a row;
- ``["o", version, length, reopenings]`` this process has opened its circuit;
- ``["s", version, lease]`` a probe that worked, ``["f", version]`` one that failed,
  ``["n", version, lease]`` one without a verdict;
- ``["p", lease, ...]`` wanted probe permits;
- ``["x"]`` reset by hand.

What belongs to an earlier version is void (C8); version -1 stands for the one that the
sender's own reset has made. The reply is: state, version, rest of
the break, reopenings, time until a suspicion is to be looked at again (0 for none),
granted leases.

Failures in a row open the circuit for all only if for ``confirm`` nobody has reported a
success: each process reports its successes more often than that, so that failures of
many busy processes are not taken for failures in a row.
"""

from __future__ import annotations

from policyctl.runtime.stores.redis import Script

SYNC = Script("""
local key, cfg, steps = KEYS[1], cjson.decode(ARGV[1]), cjson.decode(ARGV[2])
local chance = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local stored, leases, in_use, gone, given = {}, {}, 0, {}, {}
local raw = redis.call('HGETALL', key)
for i = 1, #raw, 2 do
  if string.sub(raw[i], 1, 2) == 'l:' then
    leases[raw[i]] = tonumber(raw[i + 1])
    in_use = in_use + 1
  else
    stored[raw[i]] = raw[i + 1]
  end
end
local function number(name) return tonumber(stored[name] or '0') end
local state, version = stored.state or 'closed', number('version')
local ends, reopenings, good = number('until'), number('reopenings'), number('good')
local fails, first, changed = number('fails'), number('first'), false
local window = {}
for index, total, failed, slow in
    string.gmatch(stored.window or '', '(%d+),(%d+),(%d+),(%d+);') do
  window[#window + 1] = {tonumber(index), tonumber(total), tonumber(failed),
                         tonumber(slow)}
end

local function drop(id)
  if leases[id] then
    leases[id] = nil
    in_use = in_use - 1
    gone[#gone + 1] = id
  end
end
local function move(new)
  state, changed = new, true
  version = math.max(version + 1, now)
  good, fails, first, window = 0, 0, 0, {}
  for id in pairs(leases) do drop(id) end
end
local function length()
  local long = math.min(cfg.initial * cfg.multiplier ^ reopenings, cfg.most)
  long = long * (1 - cfg.jitter + 2 * cfg.jitter * chance)
  return math.floor(math.min(long, cfg.most))
end
local function open(long)
  ends = now + long
  move('open')
end
local function is_current(step)
  return step[2] == version or step[2] == -1 or version == 0
end

if state == 'open' and now >= ends then
  state, good, changed = 'half_open', 0, true
end
for id, last in pairs(leases) do
  if last <= now then drop(id) end
end

local function count(total, failed, slow)
  local index = cfg.bucket > 0 and math.floor(now / cfg.bucket) or 0
  local last = window[#window]
  local fresh = not last
  if last and cfg.bucket > 0 then fresh = last[1] ~= index end
  if last and cfg.bucket == 0 then
    fresh = last[2] >= cfg.chunk
    index = last[1] + (fresh and 1 or 0)
  end
  if fresh then
    last = {index, 0, 0, 0}
    window[#window + 1] = last
  end
  last[2], last[3], last[4] = last[2] + total, last[3] + failed, last[4] + slow
end
local function sums()
  local total, failed, slow = 0, 0, 0
  if cfg.bucket > 0 then
    local oldest = math.floor(now / cfg.bucket) - cfg.buckets + 1
    while window[1] and window[1][1] < oldest do table.remove(window, 1) end
  end
  for _, part in ipairs(window) do
    total, failed, slow = total + part[2], failed + part[3], slow + part[4]
  end
  while cfg.bucket == 0 and window[1] and total - window[1][2] >= cfg.calls do
    local part = table.remove(window, 1)
    total, failed, slow = total - part[2], failed - part[3], slow - part[4]
  end
  return total, failed, slow
end
local function judge()
  if state ~= 'closed' then return end
  local total, failed, slow = sums()
  if total >= cfg.minimum and ((cfg.ratio and failed >= cfg.ratio * total and failed > 0)
      or (cfg.slow and slow >= cfg.slow * total and slow > 0)) then
    return open(length())
  end
  if cfg.threshold and fails >= cfg.threshold and now - first >= cfg.confirm then
    open(length())
  end
end

local apply = {}
function apply.c(step)
  if state ~= 'closed' or not is_current(step) then return end
  changed = true
  if step[3] > step[4] then
    fails, first = step[6], step[6] > 0 and now or 0
  else
    if fails == 0 then first = now end
    fails = fails + step[4]
  end
  count(step[3], step[4], step[5])
end
function apply.o(step)
  if state == 'closed' and is_current(step) then
    reopenings = step[4]
    open(step[3])
  end
end
function apply.s(step)
  drop(step[3])
  if state ~= 'half_open' or step[2] ~= version then return end
  good, changed = good + 1, true
  if good >= cfg.success_threshold then
    reopenings, ends = 0, 0
    move('closed')
  end
end
function apply.f(step)
  if state ~= 'half_open' or step[2] ~= version then return end
  reopenings = reopenings + 1
  open(length())
end
function apply.n(step) drop(step[3]) end
function apply.x()
  reopenings, ends = 0, 0
  move('closed')
end
function apply.p(step)
  if state ~= 'half_open' then return end
  for i = 2, #step do
    local id = step[i]
    if not leases[id] and in_use < cfg.max_calls then
      leases[id], in_use = now + cfg.lease, in_use + 1
    end
    if leases[id] then given[#given + 1] = id end
  end
end
for _, step in ipairs(steps) do apply[step[1]](step) end
judge()

if #gone > 0 then redis.call('HDEL', key, unpack(gone)) end
for _, id in ipairs(given) do
  redis.call('HSET', key, id, string.format('%.0f', leases[id]))
end
if changed then
  local parts = {}
  for _, p in ipairs(window) do
    parts[#parts + 1] = string.format('%.0f,%.0f,%.0f,%.0f;', p[1], p[2], p[3], p[4])
  end
  local function whole(value) return string.format('%.0f', value) end
  redis.call('HSET', key, 'state', state, 'version', whole(version),
    'until', whole(ends), 'reopenings', whole(reopenings), 'good', whole(good),
    'fails', whole(fails), 'first', whole(first), 'window', table.concat(parts))
end
if changed or #given > 0 then
  redis.call('PEXPIRE', key,
    string.format('%.0f', math.max(ends - now, 0) / 1000 + cfg.keep))
end
local suspicion = 0
if state == 'closed' and cfg.threshold and fails >= cfg.threshold then
  suspicion = math.max(1, first + cfg.confirm - now)
end
return {state, string.format('%.0f', version), math.max(ends - now, 0), reopenings,
        suspicion, given}
""")
"""Takes steps and gives the state of all."""

PEEK = Script("return redis.call('HGET', KEYS[1], 'version')")
"""The version, to see whether there is anything new."""
