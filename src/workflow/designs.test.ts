import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { LLD_42 } from '../../test/fixtures/lld/lld-42.ts';
import { testFolder } from '../../test/support/folder.ts';
import { designFacts } from '../documents/lld/document.ts';
import { createDesignCache, designNames, rememberDesign } from './designs.ts';

const OTHER = LLD_42.replaceAll('42', '43').replace('**Related Issues:** None', '**Related Issues:** depends on #42');

async function place(): Promise<{ file: string; lines: () => Promise<string[]> }> {
  const file = join(await testFolder(), 'caches', 'designs.jsonl');
  return { file, lines: async () => (await readFile(file, 'utf8').catch(() => '')).split('\n').filter(Boolean) };
}

/** What the file says counts, so that a changed entry shows whether it was used. */
async function change(file: string, edit: (text: string) => string): Promise<void> {
  await writeFile(file, edit(await readFile(file, 'utf8')));
}

test('what was parsed is stored once by save, and not parsed again; nothing is written without it', async () => {
  const { file, lines } = await place();
  const cache = createDesignCache(file);
  expect(await cache.factsOf(LLD_42)).toEqual({ ...designFacts(LLD_42), ...designNames(LLD_42) });
  expect(await cache.factsOf(OTHER)).toMatchObject({ after: ['42'] });
  expect(await lines()).toEqual([]);
  await cache.save();
  await rememberDesign(file, LLD_42);
  expect(await lines()).toHaveLength(3);

  await change(file, (text) => text.replaceAll('src/item-43.js', 'src/from-the-cache.js'));
  const next = createDesignCache(file);
  expect((await next.factsOf(OTHER)).files).toContain('src/from-the-cache.js');
  await next.save();
  expect(await lines()).toHaveLength(3);
  // Another text is another design.
  expect((await next.factsOf(`${OTHER}\n`)).files).toContain('src/item-43.js');
});

test('what is damaged, torn or of another version is ignored, and spoils no other entry', async () => {
  const { file, lines } = await place();
  await mkdir(dirname(file));
  for (const damage of ['{"hash":"a","re', 'null', '[]', '\0\0', '{"hash":1}']) await appendFile(file, `\n${damage}`);
  await rememberDesign(file, LLD_42);
  await rememberDesign(file, OTHER);
  await change(file, (text) => text.replaceAll('src/item-', 'lib/item-'));
  const files = async (text: string): Promise<string> => (await createDesignCache(file).factsOf(text)).files.join();
  expect(await files(LLD_42)).toContain('lib/item-42.js');
  expect(await files(OTHER)).toContain('lib/item-43.js');
  for (const [from, to] of [
    ['"reader":"', '"reader":"0.0.1-'],
    ['"files":[', '"files":[7,'],
    ['"after":[', '"after":"none","x":['],
  ] as const) {
    const before = await readFile(file, 'utf8');
    await change(file, (text) => text.replaceAll(from, to));
    expect(await files(OTHER), to).toContain('src/item-43.js');
    await writeFile(file, before);
  }
  await writeFile(file, `${(await lines()).join('\n')}\n${' '.repeat(33_000_000)}`);
  const cache = createDesignCache(file);
  expect((await cache.factsOf(OTHER)).files).toContain('src/item-43.js');
  await cache.save();
  expect(await lines()).toHaveLength(1);
});
