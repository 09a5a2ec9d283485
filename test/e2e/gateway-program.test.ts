import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE, issueOf, lldFor, review, script, vendorEnv } from '../support/models.ts';
import { eventually, processesWith, workersOf } from '../support/processes.ts';
import { agentos, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'anthropic:claude-sonnet-5'];
const KEYS = ['sk-ant-first-0123456789', 'sk-ant-second-0123456789', 'sk-ant-third-0123456789'];

interface Place {
  vendor: Vendor;
  repository: TestRepository;
  options: { cwd: string; env: Record<string, string> };
}

async function place(ids: number[], vendorOptions: VendorOptions, env: Record<string, string> = {}): Promise<Place> {
  const vendor = await startVendor(vendorOptions);
  onTestFinished(() => vendor.close());
  const repository = await testRepository(Object.fromEntries(ids.map((id) => [id, ISSUE])));
  const all = {
    ...vendorEnv(vendor.url),
    HOME: repository.home,
    ANTHROPIC_API_KEYS: KEYS.join(','),
    ANTHROPIC_API_KEY: '',
    ...env,
  };
  return { vendor, repository, options: { cwd: repository.root, env: all } };
}

test('every call uses a key of the pool, and a dead key is taken out once and said so', async () => {
  const { vendor, options } = await place([1, 2, 3, 4], {
    keys: [KEYS[0] ?? '', KEYS[2] ?? ''],
    script: script(),
  });
  const { code, stdout } = await agentos(['lld', '--all', '--parallel', '2', ...MODELS], options);
  expect(code).toBe(0);
  const dead = vendor.calls.filter((call) => call.key === KEYS[1]);
  expect(dead.length).toBeLessThanOrEqual(2);
  expect(vendor.calls.filter((call) => call.status === 200)).toHaveLength(8);
  if (dead.length > 0) expect(stdout.match(/\[COORDINATOR\] ANTHROPIC_API_KEYS#2 disabled/g)).toHaveLength(1);
});

test('no key is in the environment, the arguments or the memory maps of any process that the program starts', async () => {
  const { vendor, options } = await place([1, 2], {
    script: script({ review: () => ({ text: 'x', stallAfterChars: 1 }) }),
  });
  const drafter = 'command:env > env-$$.txt; sleep 30';
  const program = startAgentos(['lld', '1', '--drafter', drafter, '--reviewer', 'anthropic:claude-opus-5'], options);
  await eventually('the command runs', () => processesWith('sleep\u000030').length > 0);
  const own = program.child.pid ?? 0;
  const descendants = descendantsOf(own);
  expect(descendants.length).toBeGreaterThanOrEqual(2);
  for (const pid of [own, ...descendants]) {
    const seen = ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8')).join('\0');
    for (const key of KEYS) expect(seen).not.toContain(key);
  }
  program.child.kill('SIGINT');
  await program.ended;

  const streaming = startAgentos(['lld', '2', ...MODELS], options);
  await vendor.waitForCalls(2);
  for (const pid of workersOf(streaming.child.pid)) {
    for (const key of KEYS) expect(memoryHolds(pid, key)).toBe(false);
  }
  streaming.child.kill('SIGINT');
  await streaming.ended;
});

function descendantsOf(pid: number): number[] {
  const children = readdirSync('/proc')
    .map(Number)
    .filter((candidate) => Number.isInteger(candidate))
    .filter((candidate) => {
      try {
        const stat = readFileSync(`/proc/${candidate}/stat`, 'utf8');
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === pid;
      } catch {
        return false;
      }
    });
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Looks through the writable memory of a process for a text. */
function memoryHolds(pid: number, text: string): boolean {
  const wanted = Buffer.from(text);
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const match = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line);
      if (!match) continue;
      const start = BigInt(`0x${match[1]}`);
      const size = Number(BigInt(`0x${match[2]}`) - start);
      if (size > 256 * 1024 * 1024) continue;
      const piece = Buffer.alloc(size);
      try {
        readSync(memory, piece, 0, size, start);
      } catch {
        continue;
      }
      if (piece.includes(wanted)) return true;
    }
    return false;
  } finally {
    closeSync(memory);
  }
}

test('an answer that is paid for is not lost when its worker dies: the next one gets it without a second call', async () => {
  const { vendor, repository, options } = await place([1], {
    script: script({
      // More than half of what an item may cost: taken from the checkpoint, it must not count a second time.
      draft: () => ({ text: lldFor('1'), usage: { input: 0, output: 420_000 } }),
      review: () => ({ text: review({ verdict: 'APPROVED' }), latencyMs: 1_500 }),
    }),
  });
  const program = startAgentos(['lld', '1', ...MODELS], options);
  await vendor.waitForCalls(2);
  process.kill(workersOf(program.child.pid)[0] ?? 0, 'SIGKILL');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(vendor.calls).toHaveLength(2);
  expect(stdout).toContain('already paid for');
  expect(await repository.list('docs/lld')).toEqual(['LLD-1.md']);
});

test('quota that comes back is a pause, not a failure: the run waits, says so, and ends well', async () => {
  let refused = 0;
  const { vendor, options } = await place([1], {
    script: (call) => {
      if (vendor.calls.length <= 3) {
        refused += 1;
        return { status: 429, type: 'rate_limit_error', message: 'Slow down', retryAfter: 4 };
      }
      return script()(call);
    },
  });
  const { code, stdout } = await agentos(['lld', '1', '--max-retries', '0', ...MODELS], options);
  expect(code).toBe(0);
  expect(refused).toBe(3);
  expect(stdout).toMatch(/\[COORDINATOR\] rate limit on ANTHROPIC_API_KEYS#\d/);
  expect(stdout).toContain('[COORDINATOR] pool exhausted');
  expect(stdout).toContain('[COORDINATOR] resumed');
  expect(stdout).toMatch(/\[LLD-1\] waits for quota of anthropic for [1-4] s/);
  expect(stdout).toMatch(/\[LLD-1\] resumed after .* \(quota\)/);
});

test('what waits for our own pace is not said to wait for quota', async () => {
  const { repository, options } = await place([1, 2], {
    script: script({ draft: (call) => ({ text: lldFor(issueOf(call)), latencyMs: 3_000 }) }),
  });
  await repository.write('agentos.yaml', 'limits:\n  anthropic: { concurrency: 1 }\n');
  const env = { ...options.env, ANTHROPIC_API_KEYS: KEYS[0] ?? '' };
  const { code, stdout } = await agentos(['lld', '--all', '--parallel', '2', ...MODELS], { ...options, env });
  expect(code).toBe(0);
  expect(stdout).toMatch(/\[LLD-[12]\] pace: waits for a free key of anthropic$/m);
  expect(stdout).toMatch(/\[LLD-[12]\] resumed after .* \(key\)/);
  expect(stdout).not.toContain('quota');
});

test('waiting for quota is not idling', async () => {
  const { vendor, options } = await place([1], {
    script: (call) =>
      vendor.calls.length <= 3
        ? { status: 429, type: 'rate_limit_error', message: 'Slow down', retryAfter: 5 }
        : script()(call),
  });
  const { code } = await agentos(['lld', '1', '--idle-timeout', '2s', '--max-retries', '0', ...MODELS], options);
  expect(code).toBe(0);
});

test('quota that comes back too late ends the run as paused, exit code 75, and it can be resumed', async () => {
  let full = true;
  const { repository, options } = await place([1], {
    script: (call) =>
      full ? { status: 429, type: 'rate_limit_error', message: 'Later', retryAfter: 1_800 } : script()(call),
  });
  // It would be back before the item times out, but not before the run does.
  const { code, stdout } = await agentos(['lld', '1', '--global-timeout', '10m', ...MODELS], options);
  expect(code).toBe(75);
  expect(stdout).toContain('paused');
  full = false;
  expect((await agentos(['resume'], options)).code).toBe(0);
  expect(await repository.list('docs/lld')).toEqual(['LLD-1.md']);
});

test('a cost limit is kept before a call is let out, and the item can go on with a higher one', async () => {
  const { vendor, repository, options } = await place([1], {
    script: script({ draft: () => ({ text: lldFor('1'), usage: { input: 1_000, output: 20_000 } }) }),
  });
  const { code, stdout } = await agentos(['lld', '1', '--max-cost-per-item', '0.6', ...MODELS], options);
  expect(code).toBe(1);
  expect(stdout).toContain('over-budget');
  expect(vendor.calls).toHaveLength(1);
  expect((await agentos(['resume', '--max-cost-per-item', '5'], options)).code).toBe(0);
  expect(vendor.calls).toHaveLength(2);
  expect(await repository.list('docs/lld')).toEqual(['LLD-1.md']);
});

test('a vendor that counts below zero is counted at what was reserved, so that the limit holds', async () => {
  const { vendor, options } = await place([1], {
    script: script({ draft: () => ({ text: lldFor('1'), usage: { input: -9_000_000, output: -9_000_000 } }) }),
  });
  const { code, stdout } = await agentos(['lld', '1', '--max-cost', '0.5', ...MODELS], options);
  expect(code, stdout).toBe(1);
  expect(stdout).toContain('over-budget');
  expect(vendor.calls).toHaveLength(1);
});

test('an item is stopped at $20 unless said otherwise, and a higher limit resumes it', async () => {
  const { vendor, options } = await place([1], {
    script: script({ draft: () => ({ text: lldFor('1'), usage: { input: 1_000, output: 790_000 } }) }),
  });
  const { code, stdout } = await agentos(['lld', '1', ...MODELS], options);
  expect(code).toBe(1);
  expect(stdout).toMatch(/over-budget: .*\$20 .*\(\$19\.7550 spent\)/);
  expect(stdout).toContain('a higher --max-cost-per-item');
  expect(vendor.calls).toHaveLength(1);
  expect((await agentos(['resume', '--max-cost-per-item', '30'], options)).code).toBe(0);
  expect(vendor.calls).toHaveLength(2);
});

test('a dry run tells the probable cost from past items, and the most that is enforced', async () => {
  const { repository, options } = await place([1, 2, 3], {
    script: script({ draft: (call) => ({ text: lldFor(issueOf(call)), usage: { input: 0, output: 4_000 } }) }),
  });
  expect((await agentos(['lld', '1', '2', ...MODELS], options)).code).toBe(0);
  const [run = ''] = await repository.list('.agentos/runs');
  const { items } = JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`));
  const costs = items.map((item: { costUsd: number }) => item.costUsd);
  const people = await agentos(['lld', '3', '--dry-run', ...MODELS], options);
  expect(people.stdout).toMatch(
    /^Probably about \$0\.1\d \(from 2 past items\), at most \$20\.00 \(--max-cost-per-item\)\.$/m,
  );
  const json = await agentos(['lld', '3', '--dry-run', '--json', '--max-cost', '5', ...MODELS], options);
  const plan = JSON.parse(json.stdout);
  expect(plan).toMatchObject({ costCeilingUsd: 5, costCeilingBy: '--max-cost', pastItems: 2 });
  expect(plan.estimateUsd).toBeCloseTo((costs[0] + costs[1]) / 2);
});

test('a model without a known price counts at the dearest of its vendor, or is refused under a limit where none is known', async () => {
  const { vendor, repository, options } = await place([1, 2], {
    script: script({ draft: (call) => ({ text: lldFor(issueOf(call)), usage: { input: 0, output: 60_000 } }) }),
  });
  const reviewer = ['--reviewer', 'anthropic:claude-sonnet-5'];
  const unheard = ['--drafter', 'anthropic:claude-unheard-of', ...reviewer];
  const bounded = await agentos(['lld', '1', '--max-cost', '4.6', ...unheard], options);
  expect(bounded.code).toBe(1);
  expect(bounded.stdout).toMatch(/over-budget: .*\$4\.6 .*\(\$4\.5000 spent\)/);
  expect(vendor.calls).toHaveLength(1);

  await repository.write('agentos.yaml', `endpoints:\n  openai-compatible: ${vendor.url}/v1\n`);
  const local = ['lld', '2', '--trust', '--drafter', 'openai-compatible:local', ...reviewer];
  for (const flags of [
    ['--max-cost', '5'],
    ['--max-cost-per-item', '5', '--dry-run'],
  ]) {
    const refused = await agentos([...local, ...flags], options);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain('No price of openai-compatible is known');
  }
  const plan = await agentos([...local, '--dry-run', '--json'], options);
  expect(JSON.parse(plan.stdout)).toMatchObject({ costCeilingUsd: null, estimateUsd: null });
  const free = await agentos([...local, '--json'], options);
  expect(free.code).toBe(0);
  expect(JSON.parse(free.stdout.trim().split('\n').at(-1) ?? '').items[0]).toMatchObject({ costUsd: null });
});

test('keys lists ids, states and what was learned, and never a secret; doctor --keys tries each one', async () => {
  const { repository, options } = await place([1], { keys: [KEYS[0] ?? '', KEYS[2] ?? ''], script: script() });
  const before = await agentos(['keys'], options);
  expect(before.code).toBe(0);
  expect(before.stdout).toContain('ANTHROPIC_API_KEYS#2');
  expect(before.stdout).toContain('not used here yet');
  // What an earlier run learned of limits is where the next one starts; that a key had no quota then is not believed.
  const id = 'ANTHROPIC_API_KEYS#1';
  const limits = { requestsPerMinute: 50, tokensPerMinute: null, concurrency: 2 };
  const learned = { id, vendor: 'anthropic', group: id, state: 'cooling', untilMs: 4e12, limits, reason: 'quota' };
  await repository.write('.agentos/keys.json', JSON.stringify({ at: '2026-01-01T00:00:00Z', keys: [learned] }));
  expect((await agentos(['lld', '1', ...MODELS], options)).code).toBe(0);
  const after = await agentos(['keys', '--json'], options);
  const { keys } = JSON.parse(after.stdout);
  expect(keys).toHaveLength(5);
  expect(keys.find((key: { id: string }) => key.id === id)).toMatchObject({ state: 'available', limits });
  const doctor = await agentos(['doctor', '--keys'], options);
  expect(doctor.code).toBe(1);
  expect(doctor.stdout).toMatch(/ok +ANTHROPIC_API_KEYS#1/);
  expect(doctor.stdout).toMatch(/BAD +ANTHROPIC_API_KEYS#2/);
  for (const key of KEYS) expect(before.stdout + after.stdout + doctor.stdout).not.toContain(key);
});

test('a call that is broken off has cost what it had used, also after the end of its item', async () => {
  const { repository, options } = await place([1], {
    script: script({ draft: () => ({ text: lldFor('1'), stallAfterChars: 100 }) }),
  });
  expect((await agentos(['lld', '1', ...MODELS, '--timeout', '2s'], options)).code).toBe(1);
  const [run = ''] = await repository.list('.agentos/runs');
  const { items } = JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`));
  expect(items[0]).toMatchObject({ status: 'timed-out', costUsd: expect.any(Number) as number });
  expect(items[0].costUsd).toBeGreaterThan(0);
  const events = await repository.read(`.agentos/runs/${run}/events.jsonl`);
  expect(JSON.parse(events.trim().split('\n').at(-1) ?? '')).toMatchObject({ type: 'run-finished' });
});

test('the reviewer’s verdict and the cost of each call are in the events of the gateway', async () => {
  const { repository, options } = await place([1], {
    script: script({ review: () => review({ verdict: 'APPROVED' }) }),
  });
  await agentos(['lld', '1', ...MODELS], options);
  const [run = ''] = await repository.list('.agentos/runs');
  const events = (await repository.read(`.agentos/runs/${run}/events.jsonl`))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const calls = events.filter((event) => event.type === 'gateway-call');
  expect(calls).toHaveLength(2);
  expect(calls[0]).toMatchObject({ item: '1', vendor: 'anthropic', status: 200, attempts: 1 });
  expect(calls[0].costUsd).toBeGreaterThan(0);
});
