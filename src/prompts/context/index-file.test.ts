import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolder } from '../../../test/support/folder.ts';
import { factsOf } from './file-facts.ts';
import { indexBytes, type Known, readIndex } from './index-file.ts';

test('an index is read as it was written; a damaged, cut or foreign one is as good as none', async () => {
  const path = join(await testFolder(), 'index');
  const known: Known = {
    blobs: new Map([
      ['aa', factsOf(Buffer.from("import './b.js';\nconst größe = 1;\n"))],
      ['bb', factsOf(Buffer.from([0, 1]))],
      ['cc', factsOf(Buffer.from('more words'))],
    ]),
    commits: new Map([['h', { hash: 'h', message: 'Größe', paths: ['a.js'] }]]),
  };
  const bytes = indexBytes(known) ?? Buffer.alloc(0);
  await writeFile(path, bytes);
  expect(await readIndex(path)).toEqual(known);

  const damaged = Buffer.from(bytes);
  damaged[bytes.length - 3] = (damaged[bytes.length - 3] ?? 0) ^ 0xff;
  for (const wrong of [damaged, bytes.subarray(0, 40), Buffer.from('something else'), Buffer.alloc(0)]) {
    await writeFile(path, wrong);
    expect((await readIndex(path)).blobs.size).toBe(0);
  }
  expect((await readIndex(`${path}-missing`)).commits.size).toBe(0);
});
