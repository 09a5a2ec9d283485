import type { Git } from '../git/git.ts';
import { type BaseCommit, openCommit } from '../git/repository.ts';
import { holdsKey, isSecret } from '../prompts/context/secrets.ts';
import { NotDone } from './tool.ts';
import type { LineSearch, ReadableFiles } from './tools/reading.ts';
import { grepLines, isShown, refuseUnreadable, shownText } from './worktree-files.ts';
import { namedPath, type Place } from './worktree-path.ts';

const PRIVATE_KEYS: LineSearch = {
  text: '-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----',
  isRegex: true,
  ignoreCase: false,
  path: '.',
};

/** The files of a commit or tree, read from git's objects, so that nothing else in the folder can be read. Links are not followed. */
export function readableCommit(git: Git, commit: string, exclude: readonly string[]): ReadableFiles {
  // Opened only if a tool is called.
  let opened: Promise<BaseCommit> | null = null;
  const open = (): Promise<BaseCommit> => {
    opened ??= openCommit(git, commit);
    return opened;
  };
  const folders = exclude.map((entry) => entry.replace(/\/+$/, ''));
  const isExcluded = (path: string): boolean =>
    folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
  let keyFiles: Promise<ReadonlySet<string>> | null = null;

  const locate = async (asked: string): Promise<Place> => {
    const path = namedPath({ given: git.directory, root: git.directory }, asked, 'read');
    if (isExcluded(path)) throw new NotDone(`${path} is excluded by the configuration and is not shown`);
    return { path, absolute: path, kind: kindOf(await open(), path), secret: isSecret(path) };
  };
  return {
    list: async () => (await open()).paths.filter((path) => isShown(path) && !isExcluded(path)).sort(),
    locate,
    async read(asked) {
      const place = await locate(asked);
      refuseUnreadable(place);
      const { path } = place;
      const base = await open();
      return { path, text: await shownText(path, base.sizeOf(path) ?? 0, () => base.read(path)) };
    },
    async search(search) {
      keyFiles ??= grepLines(git, PRIVATE_KEYS, { commit }).then(({ lines }) => new Set(lines.map(({ path }) => path)));
      const hidden = await keyFiles;
      const { lines, cut } = await grepLines(git, search, { commit });
      const isReadable = (path: string): boolean => isShown(path) && !isExcluded(path) && !hidden.has(path);
      return { lines: lines.filter(({ path, text }) => isReadable(path) && !holdsKey(text)), cut };
    },
  };
}

function kindOf(base: BaseCommit, path: string): Place['kind'] {
  const kind = path === '.' ? 'directory' : base.kindOf(path);
  if (kind === null) return 'missing';
  if (kind === 'directory') return 'folder';
  return base.sizeOf(path) === null ? 'link' : 'file';
}
