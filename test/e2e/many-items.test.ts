import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { ISSUE, lldFor, review } from '../support/models.ts';
import { PROJECT } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';

const BROKEN = Array.from({ length: 200 }, (_, n) => `broken-${n}`);
const GOOD = Array.from({ length: 12 }, (_, n) => `${n + 1}`);

test('more items than files may be open, and more than ten of them in one worker, end without a word about either', async () => {
  const broken = BROKEN.map((id) => [id, '']);
  const repository = await testRepository(Object.fromEntries([...broken, ...GOOD.map((id) => [id, ISSUE])]));
  await repository.write('../lld.md', lldFor('{id}'));
  await repository.write('../review.md', review({ verdict: 'APPROVED' }));
  const drafter = `command:id=$(sed -n 's/^Write the LLD for issue \\([0-9]*\\),.*/\\1/p'); sed "s/{id}/$id/g" "$HOME/../lld.md"`;
  const models = ['--drafter', drafter, '--reviewer', 'command:cat "$HOME/../review.md"'];
  const args = ['lld', '--all', '--halt', '1000', ...models];
  const program = spawn('sh', ['-c', 'ulimit -n 256; exec "$0" "$@"', `${PROJECT}/bin/agentos`, ...args], {
    cwd: repository.root,
    env: { PATH: process.env['PATH'], HOME: repository.home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  program.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const [code] = (await once(program, 'close')) as [number];
  expect({ code, errors }).toEqual({ code: 1, errors: '' });
  const [run = ''] = await repository.list('.agentos/runs');
  const { counts } = JSON.parse(await repository.read(`.agentos/runs/${run}/summary.json`));
  expect(counts).toMatchObject({ total: 212, succeeded: 12, failed: 200 });
  expect(await repository.list(`.agentos/runs/${run}/logs`)).toHaveLength(212);
  expect(await repository.list(`.agentos/runs/${run}/audit`)).toHaveLength(212);
  const events = (await repository.read(`.agentos/runs/${run}/events.jsonl`)).trimEnd().split('\n');
  expect(events.filter((line) => JSON.parse(line).type === 'item-finished')).toHaveLength(212);
});
