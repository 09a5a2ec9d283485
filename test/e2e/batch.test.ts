import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { ISSUE, issueOf, lldFor, review, script, vendorEnv } from '../support/models.ts';
import { eventually, isAlive, processesWith, workersOf } from '../support/processes.ts';
import { agentos, PROJECT, startAgentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { startVendor, type Vendor, type VendorOptions } from '../support/vendor/index.ts';

const MODELS = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];

interface Place {
  vendor: Vendor;
  repository: TestRepository;
  options: { cwd: string; env: Record<string, string> };
}

async function place(
  ids: readonly (string | number)[],
  vendorOptions: VendorOptions = { script: script() },
): Promise<Place> {
  const vendor = await startVendor(vendorOptions);
  onTestFinished(() => vendor.close());
  const repository = await testRepository(
    Object.fromEntries(ids.map((id) => [id, ISSUE.replace('Add', `Add ${id},`)])),
  );
  return {
    vendor,
    repository,
    options: { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } },
  };
}

async function summaryOf(
  repository: TestRepository,
  index = -1,
): Promise<{
  runId: string;
  retryCommand: string | null;
  counts: Record<string, number>;
  items: { id: string; status: string; attempts: number; steps: { name: string; replayed: boolean }[] }[];
}> {
  const runs = await repository.list('.agentos/runs');
  return JSON.parse(await repository.read(`.agentos/runs/${runs.at(index)}/summary.json`));
}

const IDS = [101, 102, 103, 104, 105, 106];

test('three workers do the same as one after the other: the same files, the same calls, one to one', async () => {
  const one = await place(IDS);
  const three = await place(IDS);
  expect((await agentos(['lld', '--all', ...MODELS], one.options)).code).toBe(0);
  expect((await agentos(['lld', '--all', '--parallel', '3', ...MODELS], three.options)).code).toBe(0);
  const prompts = (vendor: Vendor): string[] =>
    vendor.calls.map((call) => call.text.replace(/Files at [0-9a-f]+/g, 'Files')).sort();
  expect(prompts(three.vendor)).toEqual(prompts(one.vendor));
  for (const id of IDS) {
    const withoutBase = (text: string): string => text.replace(/baseCommit: .*/, '');
    const lld = await three.repository.read(`docs/lld/LLD-${id}.md`);
    expect(withoutBase(lld)).toBe(withoutBase(await one.repository.read(`docs/lld/LLD-${id}.md`)));
    expect(await three.repository.list(`docs/lineage/${id}`)).toEqual(await one.repository.list(`docs/lineage/${id}`));
  }
  expect(await three.repository.list('../home')).toEqual([]);
});

test('items are worked on at the same time, in processes of their own, never more than asked for', async () => {
  let atOnce = 0;
  let most = 0;
  const { vendor, repository, options } = await place(IDS, {
    script: async (call) => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise((resolve) => setTimeout(resolve, 500));
      atOnce -= 1;
      return script()(call);
    },
  });
  const program = startAgentos(['lld', '--all', '--parallel', '3', ...MODELS], options);
  await vendor.waitForCalls(3);
  expect(workersOf(program.child.pid).length).toBeGreaterThanOrEqual(3);
  expect((await program.ended).code).toBe(0);
  expect(most).toBe(3);
  expect((await summaryOf(repository)).counts).toMatchObject({ total: 6, succeeded: 6 });
});

test('mixed results: one failure is exit code 1, the others are done, and one line says how to retry', async () => {
  const { repository, options } = await place([137, 138, 142], {
    script: script({
      draft: (call) =>
        issueOf(call) === '138'
          ? lldFor('138')
          : { status: 400, type: 'invalid_request_error', message: 'no such model' },
    }),
  });
  const bounds = ['--halt', '9', '--timeout', '90s', '--max-retries', '0', '--max-cost', '7.5'];
  const { code, stdout } = await agentos(['lld', '--all', '--parallel', '3', ...bounds, ...MODELS], options);
  expect(code).toBe(1);
  const flags = `${MODELS.join(' ')} --parallel 3 --halt 9 --timeout 1m30s --max-retries 0 --max-cost 7.5`;
  expect(stdout).toContain(`Failed: 137, 142. Retry with: agentos lld --ids 137 142 ${flags}\n`);
  const summary = await summaryOf(repository);
  expect(summary.counts).toMatchObject({ failed: 2, succeeded: 1 });
  expect(await repository.list('docs/lld')).toEqual(['LLD-138.md']);

  // With nothing but refusals the model is the cause: no line asks for it again. A resumed run keeps its bounds.
  const again = await agentos(['resume'], options);
  expect(again.code).toBe(1);
  const { retryCommand } = await summaryOf(repository);
  const kept = flags.replace('--drafter anthropic:claude-opus-5 ', '');
  expect(retryCommand).toBe(`agentos lld --ids 137 142 ${kept} --drafter <model>`);
  expect(again.stdout).toContain(
    `First choose another model than anthropic:claude-opus-5.\nFailed: 137, 142. Retry with: ${retryCommand}\n`,
  );
  const missing = await agentos(['resume', '--drafter', 'command:false'], options);
  expect(missing.stdout).toContain(
    `Retry with: agentos lld --ids 137 142 ${flags.replace('anthropic:claude-opus-5', 'command:false')}\n`,
  );
});

test('DISCUSS beside success is exit code 3; beside a failure it is 1', async () => {
  const discuss = script({
    review: (call) =>
      issueOf(call) === '2'
        ? review({ verdict: 'DISCUSS', questions: ['Who pays?'] })
        : review({ verdict: 'APPROVED' }),
  });
  const three = await place([1, 2, 3], { script: discuss });
  expect((await agentos(['lld', '--all', '--parallel', '3', ...MODELS], three.options)).code).toBe(3);
  const withFailure = await place([1, 2, 3], {
    script: (call) =>
      issueOf(call) === '3' ? { status: 401, type: 'authentication_error', message: 'no' } : discuss(call),
  });
  expect((await agentos(['lld', '--all', '--parallel', '3', ...MODELS], withFailure.options)).code).toBe(1);
});

test('retries end: a vendor that stays overloaded is asked as often as the bound says', async () => {
  const { vendor, repository, options } = await place([7], {
    script: script({ draft: () => ({ status: 529, type: 'overloaded_error', message: 'Overloaded' }) }),
  });
  const { code } = await agentos(['lld', '7', '--max-retries', '1', ...MODELS], options);
  expect(code).toBe(1);
  expect(vendor.calls).toHaveLength(2);
  expect((await summaryOf(repository)).items[0]).toMatchObject({ status: 'failed', attempts: 2 });
});

test('a worker that stops answering is killed, its item is retried, and the others don’t notice', async () => {
  const { vendor, repository, options } = await place([1, 2], {
    script: async (call) => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      return script()(call);
    },
  });
  const program = startAgentos(['lld', '--all', '--parallel', '2', '--idle-timeout', '3s', ...MODELS], options);
  await vendor.waitForCalls(2);
  const [victim = 0] = workersOf(program.child.pid);
  process.kill(victim, 'SIGSTOP');
  expect((await program.ended).code).toBe(0);
  const { items } = await summaryOf(repository);
  expect(items.map((item) => item.status)).toEqual(['succeeded', 'succeeded']);
  expect(items.map((item) => item.attempts).toSorted((a, b) => a - b)).toEqual([1, 2]);
  expect(isAlive(victim)).toBe(false);
});

test('a worker that crashes fails or retries its own item only', async () => {
  const { vendor, repository, options } = await place([1, 2], {
    script: async (call) => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      return script()(call);
    },
  });
  const program = startAgentos(['lld', '--all', '--parallel', '2', ...MODELS], options);
  await vendor.waitForCalls(2);
  const [victim = 0] = workersOf(program.child.pid);
  process.kill(victim, 'SIGKILL');
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(stdout).toContain('worker process died by SIGKILL');
  expect((await summaryOf(repository)).items.map((item) => item.attempts).toSorted((a, b) => a - b)).toEqual([1, 2]);
});

test('without retries a crash is a result of its own', async () => {
  const { vendor, repository, options } = await place([1], {
    script: script({ draft: () => ({ text: 'x', stallAfterChars: 1 }) }),
  });
  const program = startAgentos(['lld', '1', '--max-retries', '0', ...MODELS], options);
  await vendor.waitForCalls(1);
  process.kill(workersOf(program.child.pid)[0] ?? 0, 'SIGKILL');
  expect((await program.ended).code).toBe(1);
  expect((await summaryOf(repository)).items[0]).toMatchObject({ status: 'crashed', attempts: 1 });
});

test('Ctrl+C with workers at work: nothing new, 130 within the bound, no process left, and resume finishes without a finished call', async () => {
  let slow = true;
  const { vendor, repository, options } = await place(IDS, {
    script: (call) => (slow && vendor.calls.length > 4 ? { text: 'x', stallAfterChars: 1 } : script()(call)),
  });
  const program = startAgentos(['lld', '--all', '--parallel', '3', ...MODELS], options);
  await vendor.waitForCalls(6);
  const began = performance.now();
  program.child.kill('SIGINT');
  const { code, signal, stdout } = await program.ended;
  expect({ code, signal }).toEqual({ code: 130, signal: null });
  expect(performance.now() - began).toBeLessThan(6_000);
  expect(stdout).toContain('SIGINT: stopping');
  const [run = ''] = await repository.list('.agentos/runs');
  await eventually('no process left', () => processesWith(`AGENTOS_WORKER=${run}`).length === 0, 2_000);
  expect(await repository.list('.agentos/locks')).toEqual([]);

  slow = false;
  const answered = vendor.calls.filter((call) => call.finished).map((call) => call.text);
  const before = vendor.calls.length;
  expect((await agentos(['resume'], options)).code).toBe(0);
  const repeated = vendor.calls.slice(before).filter((call) => answered.includes(call.text));
  expect(repeated).toEqual([]);
  expect(await repository.list('docs/lld')).toHaveLength(IDS.length);
});

test('a second Ctrl+C ends at once, with a summary, also while ten workers are at it', async () => {
  const ids = Array.from({ length: 12 }, (_, n) => `${n + 1}`);
  const repository = await testRepository(Object.fromEntries(ids.map((id) => [id, ISSUE])));
  const stubborn = `command:trap '' TERM INT; echo started >&2; while true; do sleep 0.1; done`;
  const models = ['--drafter', stubborn, '--reviewer', 'command:true'];
  const program = startAgentos(['lld', '--all', '--parallel', '10', ...models], { cwd: repository.root });
  await program.printed('started');
  program.child.kill('SIGINT');
  await program.printed('SIGINT: stopping');
  const began = performance.now();
  program.child.kill('SIGINT');
  const { code, stdout } = await program.ended;
  expect(code).toBe(130);
  expect(performance.now() - began).toBeLessThan(4_000);
  expect((await summaryOf(repository)).counts).toMatchObject({ total: 12, cancelled: 12, failed: 0 });
  expect(stdout).toContain(`Not finished: ${ids.join(', ')}. Resume with: agentos resume`);
  const [run = ''] = await repository.list('.agentos/runs');
  await eventually('no process left', () => processesWith(`AGENTOS_WORKER=${run}`).length === 0, 2_000);
});

test('no event comes after run-finished, not even of a signal', async () => {
  const { options } = await place([101]);
  const program = startAgentos(['lld', '101', '--json', ...MODELS], options);
  await program.printed('"type":"run-finished"');
  program.child.kill('SIGINT');
  const { stdout } = await program.ended;
  const lines: { type?: string; exitCode?: number }[] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.findLast(({ type }) => type !== undefined)).toMatchObject({ type: 'run-finished', exitCode: 0 });
  expect(lines.at(-1)).toMatchObject({ exitCode: 0, counts: { total: 1, succeeded: 1 } });
});

test('kill -9 of the program leaves no process behind within 2 s, not even one that left its group, and resume repeats no finished call', async () => {
  const { vendor, repository, options } = await place([1, 2, 3, 4]);
  const daemon = `command:setsid sh -c 'trap "" TERM; while true; do sleep 0.2; done' & sleep 30`;
  const program = startAgentos(
    ['lld', '--all', '--parallel', '2', '--drafter', 'anthropic:claude-opus-5', '--reviewer', daemon],
    options,
  );
  await vendor.waitForFinished(2);
  const [run = ''] = await repository.list('.agentos/runs');
  const tag = `AGENTOS_WORKER=${run}`;
  await eventually('the commands run', () => processesWith(tag).length >= 10);
  program.child.kill('SIGKILL');
  await program.ended;
  await eventually('no process left', () => processesWith(tag).length === 0, 2_000);

  const drafted = vendor.calls.length;
  expect((await agentos(['resume', '--reviewer', 'google:gemini-3-pro-preview'], options)).code).toBe(0);
  const again = vendor.calls.slice(drafted).filter((call) => call.vendor === 'anthropic');
  expect(again).toHaveLength(4 - drafted);
});

test('SIGHUP ends cleanly, with the state saved', async () => {
  const { vendor, repository, options } = await place([1], {
    script: script({ draft: () => ({ text: 'x', stallAfterChars: 1 }) }),
  });
  const program = startAgentos(['lld', '1', ...MODELS], options);
  await vendor.waitForCalls(1);
  program.child.kill('SIGHUP');
  expect(await program.ended).toMatchObject({ signal: null });
  expect((await summaryOf(repository)).items[0]).toMatchObject({ status: 'cancelled' });
});

test('a reader that goes away does not hurt the run', async () => {
  const { repository, options } = await place([1, 2]);
  const shell = spawn('sh', ['-c', `"${PROJECT}/bin/agentos" lld --all ${MODELS.join(' ')} | head -1`], {
    cwd: repository.root,
    env: { PATH: process.env['PATH'], ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  await once(shell, 'close');
  await eventually('both are done', () => processesWith(repository.root).length === 0);
  expect(await repository.list('docs/lld')).toEqual(['LLD-1.md', 'LLD-2.md']);
});

test('finished items are skipped by the same command again, others go on from their last step', async () => {
  let broken = true;
  const { vendor, repository, options } = await place([1, 2], {
    script: script({
      review: (call) =>
        broken && issueOf(call) === '2' ? { status: 400, message: 'no' } : review({ verdict: 'APPROVED' }),
    }),
  });
  expect((await agentos(['lld', '1', '2', '--parallel', '2', ...MODELS], options)).code).toBe(1);
  broken = false;
  const before = vendor.calls.length;
  expect((await agentos(['lld', '1', '2', '--parallel', '2', ...MODELS], options)).code).toBe(0);
  expect(vendor.calls.slice(before).map((call) => call.vendor)).toEqual(['google']);
  const { items } = await summaryOf(repository);
  expect(items.map((item) => item.status)).toEqual(['skipped', 'succeeded']);
  expect(items[1]?.steps).toContainEqual(expect.objectContaining({ name: 'draft', replayed: true }));
  const runs = await repository.list('.agentos/runs');
  const record = JSON.parse(await repository.read(`.agentos/runs/${runs.at(-1)}/run.json`));
  expect(record.items[1]).toMatchObject({ id: '2', state: 'resumed' });
});

test('three failures in a row with the same cause halt the batch; --halt 1 does after the first', async () => {
  const dead = {
    script: script({ draft: () => ({ status: 400, type: 'invalid_request_error', message: 'no such model' }) }),
  };
  const six = await place(IDS, dead);
  const { code, stdout } = await agentos(['lld', '--all', ...MODELS], six.options);
  expect(code).toBe(1);
  expect(six.vendor.calls).toHaveLength(3);
  expect(stdout).toContain('nothing new is started');
  expect((await summaryOf(six.repository)).counts).toMatchObject({ failed: 3, cancelled: 3 });
  const one = await place(IDS, dead);
  await agentos(['lld', '--all', '--halt', '1', ...MODELS], one.options);
  expect(one.vendor.calls).toHaveLength(1);
});

test('the global bound ends the run: what runs is timed out, the rest is not started', async () => {
  const { repository, options } = await place([1, 2], {
    script: script({ draft: () => ({ text: 'x', stallAfterChars: 1 }) }),
  });
  const { code } = await agentos(['lld', '--all', '--global-timeout', '1s', ...MODELS], options);
  expect(code).toBe(1);
  expect((await summaryOf(repository)).items.map((item) => item.status)).toEqual(['timed-out', 'cancelled']);
});

/** Commands run in a worktree at the last commit. */
function commitAll(repository: TestRepository): void {
  repository.git('add', '--all');
  repository.git('commit', '--quiet', '-m', 'Scripts');
}

test('lines of workers never mix and each has its prefix, whatever their commands print', async () => {
  const repository = await testRepository(Object.fromEntries(IDS.map((id) => [id, ISSUE])));
  await repository.write(
    'lld.sh',
    'id=$(sed -n \'s/^Write the LLD for issue \\([0-9]*\\),.*/\\1/p\'); i=0; while [ $i -lt 200 ]; do echo "line $i of the item $id, long enough to be cut in two" >&2; i=$((i+1)); done; sed "s/42/$id/g" lld.md',
  );
  await repository.write('lld.md', lldFor('42'));
  await repository.write('review.md', review({ verdict: 'APPROVED' }));
  commitAll(repository);
  const models = ['--drafter', 'command:sh lld.sh', '--reviewer', 'command:cat review.md'];
  const { code, stdout } = await agentos(['lld', '--all', '--parallel', '3', ...models], { cwd: repository.root });
  expect(code).toBe(0);
  for (const line of stdout.split('\n').filter((text) => text.includes('long enough'))) {
    expect(line).toMatch(/^\[LLD-(\d+)\] line \d+ of the item \1, long enough to be cut in two$/);
  }
  expect(stdout.match(/long enough to be cut in two$/gm)).toHaveLength(IDS.length * 200);
  const [run = ''] = await repository.list('.agentos/runs');
  expect(await repository.list(`.agentos/runs/${run}/logs`)).toEqual(IDS.map((id) => `lld-${id}.log`));
  expect((await repository.read(`.agentos/runs/${run}/logs/lld-101.log`)).match(/long enough/g)).toHaveLength(200);
});

test('what a command leaves running is ended with its item', async () => {
  const repository = await testRepository({ 42: ISSUE });
  await repository.write('lld.md', lldFor('42'));
  await repository.write('review.md', review({ verdict: 'APPROVED' }));
  commitAll(repository);
  const drafter = `command:sleep 300 & setsid sleep 301 & cat lld.md`;
  const { code } = await agentos(['lld', '42', '--drafter', drafter, '--reviewer', 'command:cat review.md'], {
    cwd: repository.root,
  });
  expect(code).toBe(0);
  const [run = ''] = await repository.list('.agentos/runs');
  expect(processesWith(`AGENTOS_WORKER=${run}`)).toEqual([]);
});
