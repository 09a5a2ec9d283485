import type { IssueMaterial } from '../../governance/material.ts';

/** Extensions of one language count together; the one that the repository has most of is used for new files. */
const LANGUAGES: readonly (readonly string[])[] = [
  ['js', 'mjs', 'cjs', 'jsx'],
  ['ts', 'mts', 'cts', 'tsx'],
  ['py'],
  ['go'],
  ['rs'],
  ['rb'],
  ['java'],
  ['kt'],
  ['cs'],
  ['c'],
  ['cpp', 'cc'],
  ['php'],
  ['swift'],
];
const FILLER = new Set(
  'a an the of in on at to for and or with by from is are be it its my our your should can could'.split(' '),
);

/** Where a new module for the issue would stand, in the repository's main language and layout. */
export function modulePathFor(issue: IssueMaterial, paths: readonly string[]): string {
  const extension = mainExtension(paths);
  const slug = slugOf(issue);
  if (extension === 'go') return `internal/${slug.replaceAll('-', '')}/${slug.replaceAll('-', '_')}.go`;
  const name = ['py', 'rs', 'rb'].includes(extension) ? slug.replaceAll('-', '_') : slug;
  const folder = sourceFolder(extension, paths);
  return `${folder === '' ? '' : `${folder}/`}${name}.${extension}`;
}

function slugOf({ id, title }: IssueMaterial): string {
  const words = title
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
    .match(/[a-z0-9]+/g);
  const slug = (words ?? [])
    .filter((word) => !FILLER.has(word))
    .slice(0, 4)
    .join('-')
    .slice(0, 40)
    .replace(/^[\d-]+|-+$/g, '');
  return slug.length > 2 ? slug : `issue-${id.toLowerCase()}`;
}

function mainExtension(paths: readonly string[]): string {
  const count = (extensions: readonly string[]): number =>
    paths.filter((path) => extensions.includes(extensionOf(path))).length;
  const [first] = LANGUAGES.map((extensions) => ({ extensions, files: count(extensions) })).toSorted(
    (a, b) => b.files - a.files,
  );
  return first?.extensions.toSorted((a, b) => count([b]) - count([a]))[0] ?? 'js';
}

/** The folder that holds most of the language's files which are no tests, `src` for a repository without any. */
function sourceFolder(extension: string, paths: readonly string[]): string {
  const sources = paths.filter(
    (path) =>
      extensionOf(path) === extension &&
      !/(?:^|\/)(?:tests?|specs?|__tests__|scripts?|bench|examples?|docs?)\//.test(path),
  );
  const folders = sources.filter((path) => path.includes('/')).map((path) => path.slice(0, path.lastIndexOf('/')));
  if (folders.length === 0) return sources.length > 0 || paths.includes('src') ? '' : 'src';
  const shallowest = Math.min(...folders.map((folder) => folder.split('/').length));
  const top = folders.filter((folder) => folder.split('/').length === shallowest);
  const counted = [...new Set(top)].map((folder) => ({
    folder,
    files: top.filter((other) => other === folder).length,
  }));
  return counted.toSorted((a, b) => b.files - a.files || (a.folder < b.folder ? -1 : 1))[0]?.folder ?? 'src';
}

export function extensionOf(path: string): string {
  return /\.([a-z]+)$/.exec(path)?.[1] ?? '';
}
