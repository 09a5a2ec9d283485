import { relative } from 'node:path';
import type { DesignSize } from '../core/config.ts';
import type { ForecastDesign } from '../core/forecast.ts';
import { checkAlreadyDone, citationOf, evidenceIn, linesOf } from '../documents/already-done.ts';
import { formatCoverage } from '../documents/coverage.ts';
import { isUntouched } from '../documents/header.ts';
import { checkLld } from '../documents/lld/checks.ts';
import { isAlreadyDone, LLD_FORM } from '../documents/revise/reply.ts';
import { withReviewLog, withStatus } from '../documents/revise/review-log.ts';
import type { BaseCommit } from '../git/repository.ts';
import { writeFileAtomic } from '../process/files.ts';
import type { Prompts } from '../prompts/prompts.ts';
import { tagged } from '../prompts/tags.ts';
import { type Issue, shownIssue } from '../source/port.ts';
import { approvedLld, editedLld, readLldFile } from './approved-documents.ts';
import { createDecider } from './decide.ts';
import { forecastFor, otherDesigns, rememberDesign } from './designs.ts';
import { approvedDocument, type DocumentRepository } from './document.ts';
import type { CheckResult, DocumentSubject } from './document-review.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { endAsDone } from './lineage.ts';

/** Turns an issue into a reviewed LLD, or finds that it is already done. Without a size the drafter chooses one. */
export async function runLld(
  item: ItemContext,
  repository: DocumentRepository,
  issue: Issue,
  size: DesignSize | null = null,
): Promise<ItemResult> {
  const { paths, prompts, signal, emit } = item;
  const refused = await vouchedFor(item, issue);
  if (refused !== null) return refused;
  const path = paths.lld(issue.id);
  const existing = await readLldFile(path);
  const given = existing ? editedLld(existing) : null;
  const approved = await approvedDocument(item, repository, {
    input: issue,
    // A model must not continue an item of the recorded tour.
    inputs: { issue: issue.hash, given, ...(item.provider('drafter').isModel ? {} : { recorded: true }) },
    givenDraft: given,
    replaced: existing && !isUntouched(existing) && given === null ? existing.body : null,
    begin: async (base): Promise<{ others: ForecastDesign[] }> => ({
      others: await otherDesigns(paths, issue.id, async () => base),
    }),
    lineage: () => paths.lineage(issue.id),
    subject: ({ context, others }, begunWith) => ({
      ...lldSubject(begunWith, context, prompts, size),
      shownToReviewer: (draft) => (isAlreadyDone(draft) ? '' : forecastFor(issue.id, draft, others)),
    }),
    check: (draft, base) => lldCheck(draft, issue, base, repository),
  });
  if ('ended' in approved) return approved.ended;

  const { text, reviewLog, lineage, by } = approved;
  if (isAlreadyDone(text)) {
    const body = withReviewLog(text, reviewLog);
    const { drafter, reviewer, rounds, baseCommit } = by;
    const claim = { body, evidence: evidenceIn(text), by: { drafter, reviewer, rounds } };
    signal.throwIfAborted();
    return endAsDone(item, lineage, claim, await repository.open(baseCommit));
  }
  const body = withStatus(withReviewLog(text, reviewLog), 'Approved');
  const final = approvedLld(body, issue, by);
  signal.throwIfAborted();
  await lineage.add('final', final);
  await writeFileAtomic(path, final);
  emit({ type: 'file-written', path: relative(paths.repository, path), what: 'lld' });
  await rememberDesign(paths.designs, final);
  return { status: 'succeeded', reason: null, outputs: [path, paths.lineage(issue.id)] };
}

/** A person reads a text that no trusted person vouches for before a model does. Null: the item may start. */
async function vouchedFor(item: ItemContext, issue: Issue): Promise<ItemResult | null> {
  const { doubt = null, url = '' } = issue.facts ?? {};
  if (doubt === null) return null;
  const decider = createDecider(item, { folder: item.paths.lineage(issue.id), canRevise: false });
  const reason = `read ${url} before a model does: ${doubt}`;
  const decision = await decider.ask({ reason, text: shownIssue(issue) });
  if (decision === null) return { status: 'discuss', reason, outputs: [url] };
  return decision.kind === 'drop' ? decider.drop(decision) : null;
}

export async function lldCheck(
  draft: string,
  { id }: Pick<Issue, 'id'>,
  base: BaseCommit,
  repository: Pick<DocumentRepository, 'shownText'>,
): Promise<CheckResult> {
  if (isAlreadyDone(draft)) {
    const textOf = (file: string) => repository.shownText(base.commit, file);
    return { findings: await checkAlreadyDone(draft, base), coverage: '', evidence: await citedLines(draft, textOf) };
  }
  const { findings, coverage } = checkLld(draft, { issueId: id, tree: base });
  return { findings, coverage: formatCoverage(coverage) };
}

const MOST_SHOWN_CHARS = 40_000;

/** The lines that a claim cites, with their numbers. Lines that models must not see, or that don't fit, are named. */
async function citedLines(claim: string, textOf: (path: string) => Promise<string | null>): Promise<string> {
  let room = MOST_SHOWN_CHARS;
  const pieces: string[] = [];
  for (const cited of evidenceIn(claim)) {
    const text = await textOf(cited.path);
    const lines = text === null ? [] : linesOf(text).slice(cited.from - 1, cited.to);
    const shown = lines.map((line, index) => `${cited.from + index}: ${line}`).join('\n');
    const isShown = shown !== '' && shown.length <= room;
    if (isShown) room -= shown.length;
    pieces.push(`${citationOf(cited)}\n${isShown ? shown : '(not shown)'}`);
  }
  return pieces.join('\n\n');
}

const MAY_LEAVE_OUT: Record<DesignSize, string> = {
  small: 'one line, `N/A – reason`, is enough for the sections 4, 5, 7, 8, 9 and 11 and for the diagram',
  normal: 'one line is enough for the sections 5, 9 and 11 where there is little to say',
  large: 'every section in full, and section 4 says what could be split off',
};

/** `context`: what both roles are shown of the repository. */
export function lldSubject(
  issue: Pick<Issue, 'id' | 'title' | 'body'>,
  context: string,
  prompts: Prompts,
  size: DesignSize | null = null,
): DocumentSubject {
  return {
    id: issue.id,
    title: issue.title,
    form: LLD_FORM,
    shown: [tagged('issue', shownIssue(issue)), tagged('repository', context)],
    shownToDrafter: [
      tagged('template', prompts.fill('lld-template')),
      ...(size === null ? [] : [tagged('size', `${size}: ${MAY_LEAVE_OUT[size]}.`)]),
    ],
    prefix: '',
  };
}
