import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { testFolder } from '../support/folder.ts';
import { ISSUE } from '../support/models.ts';
import { agentos } from '../support/program.ts';
import { testRepository } from '../support/repository.ts';

/** Words of our SQL and of the driver that no other code has. */
const OF_THE_HUB = /agentos\.run_items|SCRAM-SHA-256/;

test('a program that works alone loads nothing of the hub, neither itself nor in its workers', async () => {
  const folder = await testFolder();
  const list = join(folder, 'loaded');
  const hook = join(folder, 'hook.mjs');
  await writeFile(
    hook,
    `import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({ load(url, context, next) { appendFileSync(${JSON.stringify(list)}, url + '\\n'); return next(url, context); } });
`,
  );
  const repository = await testRepository({ 42: ISSUE });
  const env = { HOME: repository.home, NODE_OPTIONS: `--import "${hook}"` };
  const loaded = async (...args: string[]): Promise<string[]> => {
    await writeFile(list, '');
    await agentos(args, { cwd: repository.root, env });
    const urls = new Set((await readFile(list, 'utf8')).split('\n').filter((url) => url.includes('/dist/')));
    expect([...urls].some((url) => url.includes('/dist/cli.js'))).toBe(true);
    const files = await Promise.all(
      [...urls].map(async (url) => ({ url, code: await readFile(fileURLToPath(url), 'utf8') })),
    );
    return files.filter(({ code }) => OF_THE_HUB.test(code)).map(({ url }) => url);
  };
  expect(await loaded('lld', '42', '--offline')).toEqual([]);
  expect(await readFile(list, 'utf8')).toContain('/dist/worker.js');
  for (const command of [['status'], ['keys'], ['logs', '42'], ['decide', '42', '--drop'], ['--version'], ['--help']])
    expect(await loaded(...command)).toEqual([]);
  // The words are right: with a database they are found.
  expect(await loaded('hub', 'machines', '--database', 'postgres://nobody@127.0.0.1:1/none')).not.toEqual([]);
});
