import { extensionOf } from './module-path.ts';

/** Where the test of a file stands or would stand, as the repository and its language do it. */
export function testPathFor(source: string, paths: readonly string[]): string {
  const extension = extensionOf(source);
  const stem = source.slice(source.lastIndexOf('/') + 1).replace(/\.[^.]*$/, '');
  const folder = source.includes('/') ? `${source.slice(0, source.lastIndexOf('/'))}/` : '';
  if (extension === 'go') return `${folder}${stem}_test.go`;
  const name = testName(stem, extension, paths);
  const existing = paths.find((path) => path === name || path.endsWith(`/${name}`));
  if (existing !== undefined) return existing;
  return isBeside(extension, paths) ? `${folder}${name}` : `${testFolder(extension, paths)}/${name}`;
}

function testName(stem: string, extension: string, paths: readonly string[]): string {
  if (extension === 'py') return `test_${stem}.py`;
  if (extension === 'rs') return `${stem}.rs`;
  if (extension === 'rb')
    return paths.some((path) => path.endsWith('_spec.rb')) ? `${stem}_spec.rb` : `${stem}_test.rb`;
  if (['java', 'kt', 'cs', 'swift', 'php'].includes(extension)) return `${stem}Test.${extension}`;
  const word = paths.some((path) => path.endsWith(`.spec.${extension}`)) ? 'spec' : 'test';
  return `${stem}.${word}.${extension === '' ? 'js' : extension}`;
}

/** Tests stand beside their files when most of the repository's do. */
function isBeside(extension: string, paths: readonly string[]): boolean {
  const tests = paths.filter((path) => new RegExp(`\\.(?:test|spec)\\.${extension}$`).test(path));
  const apart = tests.filter((path) => /(?:^|\/)(?:tests?|specs?|__tests__)\//.test(path));
  return tests.length > apart.length * 2;
}

function testFolder(extension: string, paths: readonly string[]): string {
  const known = ['test', 'tests', 'spec', '__tests__'].find((folder) =>
    paths.some((path) => path.startsWith(`${folder}/`)),
  );
  return known ?? (extension === 'py' || extension === 'rs' ? 'tests' : 'test');
}
