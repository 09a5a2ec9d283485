import { expect, test } from 'vitest';
import { documentDiff, patchFiles } from './tree.ts';

test('a changed line stands beside the one before, with what differs in it', () => {
  const file = documentDiff('a.md', 'one\ntwo words here\nthree\n', 'one\ntwo other words here\nthree\nfour\n');
  expect(file).toMatchObject({ path: 'a.md', added: 2, removed: 1, isCut: false });
  expect(file?.hunks[0]?.rows).toEqual([
    [1, 'one', 1, 'one'],
    [2, ['two words here'], 2, ['two ', 'other ', 'words here']],
    [3, 'three', 3, 'three'],
    [null, null, 4, 'four'],
  ]);
});

test('lines that have little in common are not compared, and the same text has no difference', () => {
  const rows = documentDiff('a', 'alpha beta gamma\n', 'delta epsilon zeta\n')?.hunks[0]?.rows;
  expect(rows).toEqual([[1, ['alpha beta gamma'], 1, ['delta epsilon zeta']]]);
  expect(documentDiff('a', 'same\n', 'same\n')).toBeNull();
});

test('files of a patch: added, deleted, renamed, and one that is no text', () => {
  const patch = `diff --git a/new.js b/new.js
new file mode 100644
index 0000000..e69de29
--- /dev/null
+++ b/new.js
@@ -0,0 +1,2 @@
+let a;
+let b;
diff --git a/old.js b/old.js
deleted file mode 100644
index e69de29..0000000
--- a/old.js
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/<img src=x>.js b/names with spaces.js
similarity index 100%
rename from <img src=x>.js
rename to names with spaces.js
diff --git a/logo.png b/logo.png
index 1111111..2222222 100644
Binary files a/logo.png and b/logo.png differ
`;
  const files = patchFiles(patch);
  expect(files.map(({ path, change, added, removed }) => [path, change, added, removed])).toEqual([
    ['new.js', 'added', 2, 0],
    ['old.js', 'deleted', 0, 1],
    ['names with spaces.js', 'renamed', 0, 0],
    ['logo.png', 'changed', 0, 0],
  ]);
});

test('of a change without end the beginning is shown, and that there is more', () => {
  const lines = Array.from({ length: 10_000 }, (_, index) => `line ${index}`);
  const file = documentDiff('a', '', `${lines.join('\n')}\n`);
  expect(file?.hunks.reduce((sum, { rows }) => sum + rows.length, 0)).toBe(3_000);
  expect(file).toMatchObject({ added: 10_000, isCut: true });
});
