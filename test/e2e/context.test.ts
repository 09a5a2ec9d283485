import { execFileSync } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { script, taskOf, vendorEnv } from '../support/models.ts';
import { agentos } from '../support/program.ts';
import { type TestRepository, testRepository } from '../support/repository.ts';
import { treeOf } from '../support/tree.ts';
import { startVendor } from '../support/vendor/index.ts';

const ISSUE =
  '# Invoices are rounded per line\n\nCents go missing when an invoice has many positions. See also .env.\n';
const BILLING = Array.from({ length: 80 }, (_, at) => `export function step${at}() {\n  return ${at};\n}\n`);
const ROUNDING = 'export function roundInvoiceLine(cents) {\n  return Math.round(cents);\n}\n';

/** The file that the issue is about is described by its words and never named. */
async function shop(): Promise<TestRepository> {
  const repository = await testRepository({ 42: ISSUE }, { commit: false });
  await repository.write(
    'lib/billing/amounts.js',
    [...BILLING.slice(0, 60), ROUNDING, ...BILLING.slice(60)].join('\n'),
  );
  await repository.write('lib/billing/amounts.test.js', "import { roundInvoiceLine } from './amounts.js';\n");
  for (let at = 0; at < 30; at++)
    await repository.write(`lib/other/part-${at}.js`, `export const part${at} = ${at};\n`);
  await repository.write('AGENTS.md', '# House rules\n\nMoney is counted in cents.\n');
  await repository.write('.env', 'TOKEN=very-secret-value\n');
  await repository.write('notes.txt', 'invoice\n-----BEGIN RSA PRIVATE KEY-----\nvery-secret-value\n');
  repository.git('add', '--all', '--force');
  repository.git('commit', '--quiet', '-m', 'Start');
  return repository;
}

interface Shown {
  id: string;
  base: string;
  budgetTokens: number;
  tokens: number;
  files: { path: string; part: string; lines: [number, number][]; tokens: number; why: string }[];
  leftOut: { path: string; why: string }[];
}

test('context shows the lines that an issue only describes, the conventions, and no secret; it writes nothing and needs no files', async () => {
  const repository = await shop();
  const before = await treeOf(repository.root);
  const options = { cwd: repository.root, env: { HOME: repository.home } };
  const text = await agentos(['context', '42'], options);
  expect(text.code).toBe(0);
  expect(text.stdout).toContain('roundInvoiceLine(cents)');
  expect(text.stdout).toContain('Money is counted in cents.');
  expect(text.stdout).not.toContain('very-secret-value');
  expect(text.stdout).toContain('- .env: may hold secrets');

  const json = await agentos(['context', '42', '--json'], options);
  const shown = JSON.parse(json.stdout) as Shown;
  expect(Object.keys(shown)).toEqual(['id', 'base', 'budgetTokens', 'tokens', 'files', 'leftOut']);
  expect(shown).toMatchObject({ id: '42', base: repository.git('rev-parse', 'HEAD'), budgetTokens: 24_000 });
  const printed = text.stdout.slice(0, text.stdout.lastIndexOf('\n\n'));
  expect(shown.tokens).toBe(Math.ceil(printed.length / 4));
  expect(shown.tokens).toBeLessThanOrEqual(24_000);
  const found = shown.files.find(({ path }) => path === 'lib/billing/amounts.js');
  expect(found?.why).toMatch(/words of the text/);
  const line =
    (await repository.read('lib/billing/amounts.js')).split('\n').findIndex((one) => one.includes('cents')) + 1;
  expect(found?.lines.some(([from, to]) => from <= line && line <= to)).toBe(true);
  expect(shown.leftOut).toEqual(expect.arrayContaining([{ path: 'notes.txt', why: 'may hold secrets' }]));
  expect(await treeOf(repository.root)).toEqual(before);

  const bare = join(repository.home, '..', 'bare.git');
  execFileSync('git', ['clone', '--quiet', '--bare', repository.root, bare]);
  const untouched = await treeOf(bare);
  const same = await agentos(['context', '42', '--json'], { ...options, cwd: bare });
  expect(same.stdout).toBe(json.stdout);
  expect(await treeOf(bare)).toEqual(untouched);
});

test('drafter and reviewer are shown the same code; a run keeps an index, and a damaged one changes nothing', async () => {
  const vendor = await startVendor({ script: script() });
  onTestFinished(() => vendor.close());
  const repository = await shop();
  const options = { cwd: repository.root, env: { ...vendorEnv(vendor.url), HOME: repository.home } };
  const models = ['--drafter', 'anthropic:claude-opus-5', '--reviewer', 'google:gemini-3-pro-preview'];
  await agentos(['lld', '42', ...models], options);
  const shownTo = (task: string): string | undefined => {
    const call = vendor.calls.findLast((one) => taskOf(one) === task);
    return /<repository>\n[^]*?\n<\/repository>/.exec(call?.text ?? '')?.[0];
  };
  expect(shownTo('draft')).toContain('roundInvoiceLine(cents)');
  expect(shownTo('draft')).not.toContain('very-secret-value');
  expect(shownTo('review')).toBe(shownTo('draft'));

  const index = join(repository.root, '.agentos', 'caches', 'context-index');
  expect((await readFile(index)).toString('latin1')).toContain('agentos-context');
  const withIndex = await agentos(['context', '42', '--json'], options);
  await writeFile(index, 'not an index');
  const withDamaged = await agentos(['context', '42', '--json'], options);
  expect(withDamaged.stdout).toBe(withIndex.stdout);
  expect(await readFile(index, 'utf8')).toBe('not an index');

  // The next item of a run builds it again, and has the same words for the same issue.
  const first = shownTo('draft');
  await rm(join(repository.root, 'docs'), { recursive: true });
  await agentos(['lld', '42', ...models], options);
  expect(shownTo('draft')).toBe(first);
  expect((await readFile(index)).toString('latin1')).toContain('agentos-context');
});
