import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { systemCode } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { withoutSecrets } from '../../core/keys.ts';
import { type BaseTree, checkLld } from '../../documents/lld/checks.ts';
import { isLld } from '../../documents/lld/is-lld.ts';
import { isReview, isTrustworthy, readReview } from '../../documents/review/reader.ts';
import { createGit } from '../../git/git.ts';
import { findRepository, headCommit, openCommit } from '../../git/repository.ts';
import { type CheckEntry, printCheck } from '../../output/check.ts';
import { createTerminal } from '../../output/terminal.ts';

type TreeOf = (file: string) => Promise<BaseTree | null>;

export async function checkCommand(files: string[], flags: { json?: boolean; repo?: string }): Promise<number> {
  const treeOf = await treesFor(flags.repo);
  const entries = await Promise.all(files.map((file) => checkFile(file, treeOf)));
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(entries, null, 2)}\n`);
  } else {
    const terminal = createTerminal(process.stdout, process.env, (text) => text);
    for (const entry of entries) printCheck(terminal, entry);
  }
  if (entries.some((entry) => entry.kind === 'unknown' && entry.unreadable)) return EXIT.usage;
  return entries.every(isGood) ? EXIT.ok : EXIT.failed;
}

function isGood(entry: CheckEntry): boolean {
  switch (entry.kind) {
    case 'review':
      return entry.verdict === 'APPROVED' && entry.trustworthy;
    case 'lld':
      return entry.findings.every((finding) => finding.severity !== 'error');
    case 'unknown':
      return false;
  }
}

const UNREADABLE: Record<string, string> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a folder',
  EACCES: 'may not be read',
};

async function checkFile(file: string, treeOf: TreeOf): Promise<CheckEntry> {
  const unknown = (what: string, unreadable: boolean): CheckEntry => ({
    file,
    kind: 'unknown',
    error: `${file} ${what}`,
    unreadable,
  });
  let bytes: Buffer;
  try {
    bytes = await readFile(resolve(file));
  } catch (error) {
    const code = systemCode(error);
    return unknown(UNREADABLE[code ?? ''] ?? `can't be read: ${code ?? String(error)}`, true);
  }
  const text = bytes.toString('utf8');
  if (isLld(text)) {
    const tree = await treeOf(resolve(file));
    return { file, kind: 'lld', ...checkLld(text, { tree }), pathsChecked: tree !== null };
  }
  if (isReview(text)) {
    const review = readReview(text);
    return {
      file,
      kind: 'review',
      ...review,
      problems: review.problems.map((problem) => problem.message),
      trustworthy: isTrustworthy(review),
    };
  }
  if (text.trim() === '') return unknown('is empty', false);
  return unknown(bytes.includes(0) ? 'is not UTF-8 text' : 'is neither an LLD nor a review', false);
}

/**
 * The commit whose files the paths of an LLD are looked up in: that of the named repository, which has to be one, or of
 * the one around each file. Without any, paths are not looked up.
 */
async function treesFor(repo: string | undefined): Promise<TreeOf> {
  const env = withoutSecrets(process.env, [], []);
  const open = async (directory: string): Promise<BaseTree> => {
    const git = createGit(await findRepository(directory, env), env);
    return openCommit(git, 'HEAD').catch(async (error: unknown) => {
      await headCommit(git);
      throw error;
    });
  };
  if (repo !== undefined) {
    const tree = await open(resolve(repo));
    return async () => tree;
  }
  const trees = new Map<string, Promise<BaseTree | null>>();
  return (file) => {
    const directory = dirname(file);
    const tree = trees.get(directory) ?? open(directory).catch(() => null);
    trees.set(directory, tree);
    return tree;
  };
}
