import { realpath } from 'node:fs/promises';
import { basename, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * Makes text fit for a branch, which others read on other machines: paths in the worktree and in the checkout become
 * relative to the repository. Test runners print them in many spellings.
 */
export async function createPortableText(repository: string, worktree: string): Promise<(text: string) => string> {
  const folders: string[] = [];
  // The worktree first: it may be a folder of the checkout.
  for (const folder of [worktree, repository]) {
    const real = await realpath(folder).catch(() => folder);
    for (const path of new Set([folder, real])) folders.push(pathToFileURL(path).href, `file://${path}`, path);
  }
  const patterns = folders.map((folder) => new RegExp(`${escaped(folder)}(?:(/)|(?![\\w.-]))`, 'g'));
  return (text) =>
    patterns.reduce((left, pattern) => left.replace(pattern, (_, slash?: string) => (slash ? '' : '.')), text);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/** Absolute paths among the words of a command. */
const PATHS = /(?<=')\/[^']*(?=')|(?<=")\/[^"]*(?=")|(?<=[\s=:])\/[^\s'"]+/g;

/** A model spec for a branch: programs and files of this machine are named from the repository, or by name alone. */
export function portableSpec(repository: string, spec: string): string {
  if (!spec.startsWith('command:')) return spec;
  return spec.replace(PATHS, (path) => {
    const way = relative(repository, path).split(sep).join('/');
    const isUnrelated = way.endsWith(`..${path}`);
    return isUnrelated ? basename(path) : way || '.';
  });
}
