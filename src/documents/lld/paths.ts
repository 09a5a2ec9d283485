import { type DocumentFinding, error } from '../finding.ts';
import type { LldDocument } from './document.ts';
import type { LldFile } from './files-table.ts';

/** The repository at the base commit. Paths are relative to its root, with `/` between names. */
export interface BaseTree {
  kindOf(path: string): 'file' | 'directory' | null;
}

/** First folders that a repository may well get with this very change. */
const CONVENTIONAL =
  /^(?:\..*|src|lib|tests?|specs?|e2e|docs?|bin|scripts|tools|examples|packages|apps|cmd|internal|pkg|config|fixtures|migrations|assets|public|services|modules|crates)$/i;

/** `path-outside`, `path-missing`, `path-exists`, `path-parent`. */
export function checkPaths(lld: LldDocument, tree: BaseTree | null): DocumentFinding[] {
  const outside = [...lld.files, ...lld.unreadFiles].flatMap(({ path, line }) => {
    const reason = outsideReason(path);
    return reason === null
      ? []
      : [error('path-outside', line, `${path} ${reason}: use a path from the root of the repository.`)];
  });
  if (!tree) return outside;
  const readable = lld.files.filter(({ path }) => path !== '' && !path.includes('*') && outsideReason(path) === null);
  return [...outside, ...readable.flatMap((file) => atBase(file, tree, readable))];
}

/** Why a path is none of the repository's, or null. */
function outsideReason(path: string): string | null {
  const seen = decoded(path).normalize('NFKC');
  const names = seen.split(/[/\\]/);
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(seen) || seen.startsWith('//'))
    return 'is an address, not a path in the repository';
  if (/^[/\\]/.test(seen)) return 'is an absolute path';
  if (/^[a-z]:/i.test(seen)) return 'names a drive';
  if (names[0]?.startsWith('~') || /^(?:\$\{?[A-Z_]{2,}\}?|%[A-Z_]+%)(?:[/\\]|$)/.test(seen))
    return 'leads to a folder outside the repository';
  if (names.includes('..')) return 'leaves the repository with ".."';
  if (seen.includes('\\')) return 'has backslashes';
  // oxlint-disable-next-line no-control-regex -- exactly these characters are looked for
  if (/[\u0000-\u001f\u007f]/.test(seen)) return 'has control characters';
  if (names.some((name) => /^(?:\.git[. ]*|git~\d+)$/i.test(name))) return "is inside git's own folder";
  if (/^\.agentos$/i.test(names[0] ?? '')) return "is inside the program's own state folder";
  return null;
}

function decoded(path: string): string {
  return path.replace(/%(2e|2f|5c)/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

function atBase({ path, change, line }: LldFile, tree: BaseTree, all: LldFile[]): DocumentFinding[] {
  const kind = tree.kindOf(path);
  const at = 'at the base commit';
  if (change !== 'Add') {
    const [done, advice] = change === 'Modify' ? ['modified', 'make it an Add'] : ['deleted', 'leave the row out'];
    const message = `${path} is to be ${done} but is not in the repository ${at}: correct the path, or ${advice}.`;
    return kind === null ? [error('path-missing', line, message)] : [];
  }
  if (kind !== null) {
    const [what, advice] =
      kind === 'file'
        ? [`already in the repository ${at}`, 'make it a Modify, or choose another path']
        : [`a folder ${at}`, 'list the files inside it'];
    return [error('path-exists', line, `${path} is to be added but is ${what}: ${advice}.`)];
  }
  const folders = ancestors(path);
  const blocking = folders.find((folder) => tree.kindOf(folder) === 'file');
  if (blocking !== undefined)
    return [error('path-parent', line, `${path} cannot be added: ${blocking} is a file ${at}. Choose another folder.`)];
  const [first, second] = folders;
  if (first === undefined || second === undefined || CONVENTIONAL.test(first)) return [];
  // A file directly in the new folder shows that the folder itself is meant, not mistyped.
  const isMeant = all.some((other) => other.change === 'Add' && ancestors(other.path).join() === first);
  if (isMeant || [first, second].some((folder) => tree.kindOf(folder) !== null)) return [];
  const missing = `neither ${folders.join(' nor ')} is in the repository: use an existing folder, or correct the path`;
  return [error('path-parent', line, `${path} is to be added, but ${missing}.`)];
}

/** The folders above a path, outermost first: `a`, `a/b` for `a/b/c`. */
function ancestors(path: string): string[] {
  const names = path.split('/').slice(0, -1);
  return names.map((_, index) => names.slice(0, index + 1).join('/'));
}
