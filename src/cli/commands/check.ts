import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { AgentosError, usageError } from '../../core/errors.ts';
import { EXIT } from '../../core/exit-code.ts';
import { plainEnvironment } from '../../core/keys.ts';
import { inWords, predicate } from '../../core/lines.ts';
import { type Coverage, formatCoverage } from '../../documents/coverage.ts';
import type { DocumentFinding } from '../../documents/finding.ts';
import { readHeader } from '../../documents/header.ts';
import { type BaseTree, checkLld } from '../../documents/lld/checks.ts';
import { isLld } from '../../documents/lld/document.ts';
import { isReview, isTrustworthy, type Review, readReview } from '../../documents/review/reader.ts';
import { createGit } from '../../git/git.ts';
import { findRepository, headCommit, openCommit } from '../../git/repository.ts';
import { createTerminal, paint, printable, type Terminal } from '../../output/terminal.ts';
import { NOT_TEXT, readText, unreadableReason } from '../../process/files.ts';
import type { AuditedFile } from '../../run/history/audit.ts';
import { printJson } from '../print.ts';

/** One file as `check --json` prints it. */
type CheckEntry =
  | ({ file: string; kind: 'review'; trustworthy: boolean } & Review)
  | { file: string; kind: 'lld'; findings: DocumentFinding[]; coverage: Coverage; pathsChecked: boolean }
  | { file: string; kind: 'unknown'; error: string; unreadable: boolean };

/** The files of the repository around a file, at a commit that it names or at the newest one. */
type TreeOf = (file: string, commit: string | null) => Promise<BaseTree | null>;

interface CheckFlags {
  json?: boolean;
  repo?: string;
  baseDir?: string;
  audit?: boolean;
}

export async function checkCommand(files: string[], flags: CheckFlags): Promise<number> {
  if (flags.audit) return auditCommand(files, flags);
  if (files.length === 0) throw usageError("Missing required argument 'files'.", 'See: agentos check --help');
  const treeOf = await treesFor(flags.repo);
  const entries = await Promise.all(files.map((file) => checkFile(file, treeOf)));
  const terminal = createTerminal();
  if (flags.json) printJson(entries);
  else for (const entry of entries) printCheck(terminal, entry);
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

const UNREADABLE: Record<string, string> = { EISDIR: 'is a folder', EACCES: 'may not be read' };

async function checkFile(file: string, treeOf: TreeOf): Promise<CheckEntry> {
  const unknown = (what: string, unreadable: boolean): CheckEntry => ({
    file,
    kind: 'unknown',
    error: `${file} ${what}`,
    unreadable,
  });
  let text: string | null;
  try {
    text = readText(resolve(file), null);
  } catch (error) {
    const reason = unreadableReason(error);
    return unknown(UNREADABLE[reason] ?? predicate(reason), reason !== NOT_TEXT);
  }
  if (text === null) return unknown('does not exist', true);
  if (isLld(text)) {
    const tree = await treeOf(resolve(file), readHeader(text).header.baseCommit);
    return { file, kind: 'lld', ...checkLld(text, { tree }), pathsChecked: tree !== null };
  }
  if (isReview(text)) {
    const review = readReview(text);
    return { file, kind: 'review', ...review, trustworthy: isTrustworthy(review) };
  }
  if (text.trim() === '') return unknown('is empty', false);
  return unknown('is neither an LLD nor a review', false);
}

/**
 * Where the paths of an LLD are looked up: in the named repository, which has to be one, or in the one around each file; at
 * the `baseCommit` of its front matter while that commit is there, else at HEAD. Without any, paths are not looked up.
 */
async function treesFor(repo: string | undefined): Promise<TreeOf> {
  const env = plainEnvironment(process.env);
  const open = async (directory: string, commit: string | null): Promise<BaseTree> => {
    const git = createGit(await findRepository(directory, env), env);
    const named = commit === null ? null : await openCommit(git, commit).catch(() => null);
    // A commit that is gone, after a rebase and a clean-up, tells nothing.
    if (named !== null) return named;
    return openCommit(git, 'HEAD').catch(async (error: unknown) => {
      await headCommit(git);
      throw error;
    });
  };
  if (repo !== undefined) await open(resolve(repo), null);
  const trees = new Map<string, Promise<BaseTree | null>>();
  return (file, commit) => {
    const directory = repo === undefined ? dirname(file) : resolve(repo);
    const key = `${directory}\n${commit ?? ''}`;
    const tree = trees.get(key) ?? open(directory, commit).catch(() => null);
    trees.set(key, tree);
    return tree;
  };
}

/** A checked document for people. */
function printCheck(terminal: Terminal, entry: CheckEntry): void {
  const file = withName(entry.file);
  const out = (text: string): void => {
    for (const line of text.split('\n')) terminal.line(printable(line));
  };
  switch (entry.kind) {
    case 'unknown':
      terminal.line(paint(terminal, 'red', withName(entry.error)));
      terminal.line(
        entry.unreadable
          ? '  Name a file that exists and may be read.'
          : '  An LLD has the numbered sections of the template, a review has a verdict; both are UTF-8 Markdown.',
      );
      return;
    case 'lld': {
      const errors = entry.findings.filter((finding) => finding.severity === 'error').length;
      const summary = `${errors} error(s), ${entry.findings.length - errors} warning(s)`;
      terminal.line(`${paint(terminal, 'bold', file)}  LLD  ${paint(terminal, errors > 0 ? 'red' : 'green', summary)}`);
      for (const { rule, severity, line, message } of entry.findings) {
        const style = severity === 'error' ? 'red' : 'yellow';
        terminal.line(
          `  ${file}:${line}  ${paint(terminal, style, severity)}  ${printable(message)}  ${paint(terminal, 'dim', rule)}`,
        );
      }
      if (!entry.pathsChecked) {
        terminal.line(
          '  Paths were not looked up: no commit of a git repository around the file. Name one with --repo <dir>.',
        );
      }
      terminal.line('');
      out(formatCoverage(entry.coverage));
      return;
    }
    case 'review': {
      const style = entry.verdict === 'APPROVED' && entry.trustworthy ? 'green' : 'yellow';
      terminal.line(
        `${paint(terminal, 'bold', file)}  review  ${paint(terminal, style, entry.verdict ?? 'no verdict')}`,
      );
      for (const problem of entry.problems)
        terminal.line(`  ${paint(terminal, 'red', 'problem')}  ${printable(problem)}`);
      for (const note of entry.notes) terminal.line(`  note  ${printable(note)}`);
      for (const { tier, area, text } of entry.findings) {
        terminal.line(`  Tier ${tier}${area ? ` ${area}` : ''}: ${printable(text.replace(/\s+/g, ' '))}`);
      }
      for (const { question, answer } of entry.openQuestions)
        terminal.line(`  Resolved: ${printable(question)} → ${printable(answer)}`);
      for (const question of entry.questionsForOrchestrator) terminal.line(`  Question: ${printable(question)}`);
      if (entry.coverage)
        terminal.line(`  Coverage: ${entry.coverage.covered}/${entry.coverage.total} = ${entry.coverage.percent} %`);
    }
  }
}

/** The name of a file may hold anything but a slash; what can be shown of it is. */
function withName(text: string): string {
  return printable(text.replace(/\s/g, ' '));
}

/**
 * `check --audit`: whether events and audit files of runs are as the runs wrote them. Without a name: of the last run.
 * What reads runs is loaded only here: a check of documents has to be quick.
 */
async function auditCommand(named: readonly string[], flags: CheckFlags): Promise<number> {
  const all = (await Promise.all((named.length === 0 ? [null] : named).map((one) => audited(one, flags)))).flat();
  if (flags.json)
    printJson(all.map(({ file, lines, broken }) => ({ file, kind: 'audit', lines, ok: broken === null, broken })));
  else printAudit(all);
  if (all.some(({ isUnreadable }) => isUnreadable)) return EXIT.usage;
  return all.every(({ broken }) => broken === null) ? EXIT.ok : EXIT.failed;
}

/** A run by its id, its folder, or a file of it. */
async function audited(named: string | null, flags: CheckFlags): Promise<AuditedFile[]> {
  const { auditFile, auditRun } = await import('../../run/history/audit.ts');
  const found = named === null ? undefined : statSync(resolve(named), { throwIfNoEntry: false });
  if (named !== null && found?.isDirectory()) return auditRun(resolve(named));
  if (named !== null && found !== undefined) return [await auditFile(resolve(named))];
  const { projectOf } = await import('../request.ts');
  const { runIds } = await import('../../run/history/run-files.ts');
  const { paths } = await projectOf(flags);
  const known = await runIds(paths);
  const runId = named ?? known[0];
  if (runId === undefined || !known.includes(runId)) throw new AgentosError({ code: 'run-missing', run: named ?? '' });
  return auditRun(paths.run(runId).directory);
}

function printAudit(files: readonly AuditedFile[]): void {
  const terminal = createTerminal();
  for (const { file, lines, broken } of files) {
    const verdict = broken === null ? paint(terminal, 'green', 'whole') : paint(terminal, 'red', 'broken');
    const where = broken === null || broken.line === null ? file : `${file}:${broken.line}`;
    terminal.line(`${where}  ${verdict}  ${broken === null ? `${lines} line(s)` : inWords(broken.reason)}`);
  }
}
