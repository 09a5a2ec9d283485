import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf, systemCode } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { withoutSecrets } from '../../core/keys.ts';
import { type BaseTree, checkLld } from '../../governance/lld/checks.ts';
import { isLld } from '../../governance/lld/is-lld.ts';
import { isReview, isTrustworthy, readReview } from '../../governance/review/reader.ts';
import { type CheckEntry, printCheck } from '../../output/check.ts';
import { createTerminal } from '../../output/terminal.ts';
import { createGit } from '../../workspace/git.ts';
import { findRepository, headCommit, openCommit } from '../../workspace/repository.ts';

export async function checkCommand(files: string[], flags: { json?: boolean; repo?: string }): Promise<number> {
  const tree = await treeOf(flags.repo);
  const entries = await Promise.all(files.map((file) => checkFile(file, tree)));
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

async function checkFile(file: string, tree: BaseTree | null): Promise<CheckEntry> {
  let bytes: Buffer;
  try {
    bytes = await readFile(resolve(file));
  } catch (error) {
    const reasons: Record<string, string> = {
      ENOENT: 'does not exist',
      EISDIR: 'is a folder',
      EACCES: 'may not be read',
    };
    const code = systemCode(error);
    return {
      file,
      kind: 'unknown',
      error: `${file} ${reasons[code ?? ''] ?? `can't be read: ${code ?? String(error)}`}`,
      unreadable: true,
    };
  }
  const text = bytes.toString('utf8');
  if (isLld(text)) return { file, kind: 'lld', ...checkLld(text, { tree }) };
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
  const what = text.trim() === '' ? 'is empty' : 'is neither an LLD nor a review';
  return { file, kind: 'unknown', error: `${file} ${what}`, unreadable: false };
}

/** The repository around, if there is one with a commit; without it, paths are not looked up. */
async function treeOf(repo: string | undefined): Promise<BaseTree | null> {
  const env = withoutSecrets(process.env, [], []);
  try {
    const git = createGit(await findRepository(resolve(repo ?? '.'), env), env);
    return await openCommit(git, await headCommit(git));
  } catch (error) {
    if (repo !== undefined && codeOf(error) === 'repository-missing') throw error;
    return null;
  }
}
