import { relative } from 'node:path';
import { formatCoverage } from '../documents/coverage.ts';
import { checkLld } from '../documents/lld/checks.ts';
import { withReviewLog } from '../documents/lld/review-log.ts';
import { withStatus } from '../documents/lld/status.ts';
import { writeFileAtomic } from '../process/atomic-file.ts';
import type { Issue } from '../source/port.ts';
import { approvedLld, editedLld, readLldFile } from './approved-lld.ts';
import { rememberDesign } from './design-cache.ts';
import { approvedDocument, type DocumentDependencies, type DocumentResult } from './document.ts';
import { lldSubject } from './lld-questions.ts';

export interface LldDependencies extends DocumentDependencies {
  issue: Issue;
}

/** One issue becomes a reviewed LLD. */
export async function runLld(deps: LldDependencies): Promise<DocumentResult> {
  const { issue, paths, prompts, signal, emit } = deps;
  const existing = await readLldFile(paths.lld(issue.id));
  const given = existing ? editedLld(existing, issue) : null;
  const approved = await approvedDocument(deps, {
    workflow: 'lld',
    input: issue,
    // What the recorded tour began with is nothing for a model to start from.
    inputs: { issue: issue.hash, given, ...(deps.providers.drafter.isModel ? {} : { recorded: true }) },
    givenDraft: given,
    replaced: existing && !existing.untouched && given === null ? existing.body : null,
    begin: () => Promise.resolve({}),
    lineage: () => paths.lineage(issue.id),
    subject: ({ context }, begunWith) => lldSubject({ issue: begunWith, context, prompts }),
    check: (draft, base) => {
      const { findings, coverage } = checkLld(draft, { issueId: issue.id, tree: base });
      return { findings, coverage: formatCoverage(coverage) };
    },
  });
  if ('ended' in approved) return approved.ended;

  const { text, reviewLog, lineage, by } = approved;
  const body = withStatus(withReviewLog(text, reviewLog), 'Approved');
  const final = approvedLld(body, issue, by);
  signal.throwIfAborted();
  await lineage.add('final', final);
  await writeFileAtomic(paths.lld(issue.id), final);
  emit({ type: 'file-written', path: relative(paths.repository, paths.lld(issue.id)), what: 'lld' });
  await rememberDesign(paths.designs, final);
  return { status: 'succeeded', reason: null, outputs: [paths.lld(issue.id), paths.lineage(issue.id)] };
}
