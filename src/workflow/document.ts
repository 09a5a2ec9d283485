import { join } from 'node:path';
import type { WorkflowName } from '../core/paths.ts';
import type { CitedTree } from '../documents/lld/files.ts';
import type { Finding, Review } from '../documents/review/reader.ts';
import { formatReviewLog } from '../documents/revise/review-log.ts';
import type { BaseCommit } from '../git/repository.ts';
import { readText } from '../process/files.ts';
import { removeStaleTemporaryFiles } from '../process/state-folder.ts';
import type { Issue } from '../source/port.ts';
import type { ApprovedBy } from './approved-documents.ts';
import { createDecider } from './decide.ts';
import { type CheckResult, createDocumentQuestions, type DocumentSubject, reviewDocument } from './document-review.ts';
import type { ItemContext, ItemResult } from './item.ts';
import { createLineage, type Lineage, nextVersionNumber, versionName } from './lineage.ts';
import type { Weigh } from './review.ts';

/** The repository as a document needs it. */
export interface DocumentRepository {
  headCommit: () => Promise<string>;
  open: (commit: string) => Promise<BaseCommit>;
  /** The text of a file; null if models must not see it. */
  shownText: (commit: string, path: string) => Promise<string | null>;
  /** What models are shown of the repository at a commit for an issue or a brief. */
  contextFor: (commit: string, asked: Pick<Issue, 'title' | 'body'>) => Promise<string>;
}

/** What is decided at the start and stays, however often the item is resumed. */
type Beginning<More> = More & {
  commit: string;
  context: string;
  firstNumber: number;
  /** A document that a person wrote or edited: it is reviewed instead of a draft. */
  givenDraft: string | null;
  /**
   * The issue or brief at that time: a change of white space since then must not change a prompt, or its stored answer
   * would be paid for again.
   */
  input: Pick<Issue, 'title' | 'body' | 'raw'>;
};

interface DocumentWork<More> {
  /** The issue or brief. */
  input: Issue;
  /** What the beginning depends on: when it changes, the item starts over. */
  inputs: unknown;
  givenDraft: string | null;
  /** Another document in the same place: it goes to the lineage before it is replaced. */
  replaced: string | null;
  /** What else is decided at the start. */
  begin: (base: BaseCommit) => More | Promise<More>;
  /** The folder of its versions. */
  lineage: (begun: More) => string;
  subject: (beginning: Beginning<More>, input: Issue) => DocumentSubject;
  check: (draft: string, base: BaseCommit) => CheckResult | Promise<CheckResult>;
}

interface ApprovedDocument {
  text: string;
  reviewLog: string;
  lineage: Lineage;
  by: ApprovedBy;
}

/** From an issue or brief to an approved document, or to another end. All it depends on is stored in durable steps. */
export async function approvedDocument<More>(
  item: ItemContext,
  repository: DocumentRepository,
  work: DocumentWork<More>,
): Promise<ApprovedDocument | { ended: ItemResult }> {
  const beginning = await begin(item, repository, work);
  const base = await repository.open(beginning.commit);
  const folder = work.lineage(beginning);
  await removeStaleTemporaryFiles(folder);
  const lineage = createLineage(item, folder, beginning.firstNumber);
  const input: Issue = { ...work.input, ...beginning.input };
  const subject = work.subject(beginning, input);
  const questions = createDocumentQuestions(subject, item, beginning.commit);

  await lineage.add('issue', item.mask(input.raw));
  if (work.replaced !== null) await lineage.add('draft', item.mask(work.replaced));
  const decider = createDecider(item, { folder, lineage, canRevise: item.provider('drafter').isModel });
  const outcome = await reviewDocument(beginning.givenDraft ?? (await questions.draft()), {
    form: subject.form,
    questions,
    check: (draft) => work.check(draft, base),
    weigh: evidenceRule(item, base, input.raw),
    lineage,
    emit: item.emit,
    maxRounds: item.maxRounds,
    decider,
  });
  const { decisions, rounds } = outcome;
  if (outcome.verdict === 'DROPPED') return { ended: await decider.drop(outcome.decision) };
  if (outcome.verdict === 'DISCUSS') return { ended: { status: 'discuss', reason: outcome.reason, outputs: [folder] } };
  const by: ApprovedBy = {
    drafter: beginning.givenDraft === null ? item.models.last('drafter') : 'a person',
    reviewer: [item.models.last('reviewer'), ...decisions.map((decision) => decision.by)].join(', '),
    recorded: !item.provider('reviewer').isModel,
    rounds,
    baseCommit: beginning.commit,
  };
  return { text: outcome.text, reviewLog: formatReviewLog(outcome.ledger, decisions), lineage, by };
}

/** Only a reviewer that can look at the code has to prove its findings. */
export function evidenceRule(item: ItemContext, base: BaseCommit, input: string): Weigh {
  return async (review, draft) => {
    const reviewer = item.provider('reviewer', item.models.last('reviewer'));
    const canLook = item.explore !== null && reviewer.takesTools === true;
    return canLook ? weighEvidence(review, base, [draft, input]) : { review, wrong: [] };
  };
}

async function begin<More>(
  { journal, mask }: ItemContext,
  repository: DocumentRepository,
  work: DocumentWork<More>,
): Promise<Beginning<More>> {
  const { inputs, givenDraft } = work;
  const { value } = await journal.step<Beginning<More>>({ name: 'begin', inputs }, async () => {
    const { title, body, raw } = work.input;
    const commit = await repository.headCommit();
    const context = await repository.contextFor(commit, work.input);
    const more = await work.begin(await repository.open(commit));
    const firstNumber = nextVersionNumber(work.lineage(more));
    const input = { title: mask(title), body: mask(body), raw: mask(raw) };
    return { ...more, commit, context, firstNumber, givenDraft, input };
  });
  return value;
}

/** Why an item without a model can't be approved. */
export function noModelReason(workflow: WorkflowName, id: string): string {
  return `no model has seen it; run agentos ${workflow} ${id} with a model`;
}

/** A template with the issue's title filled in and the issue's text quoted below it. */
export function filledTemplate(
  template: string,
  { id, title, body, note }: { id: string; title: string; body: string; note: string },
): string {
  const named = template
    .replace(/\{\{issue id\}\}/g, () => id)
    .replace(/\{\{(?:issue )?title[^{}]*\}\}/g, () => title.replace(/\s+/g, ' ').trim());
  const [heading = '', ...rest] = named.trim().split('\n');
  // In a quotation, headings and tables of the issue are not taken for those of the document.
  const quoted = [note, '', ...body.trim().split('\n')].map((line) => `> ${line}`.trimEnd());
  return [heading, '', ...quoted, ...rest, ''].join('\n');
}

/**
 * For an item that is not in the recorded tour, `offline` writes the template with the item's words to the lineage. The
 * journal stays empty, so that a later run with models starts from nothing.
 */
export async function leaveTemplate(
  item: ItemContext,
  { input, template, folder }: { input: Issue; template: string; folder: string },
): Promise<ItemResult> {
  const { workflow, mask } = item;
  const { id, title, body, raw } = input;
  const note = `No model has seen this: it is the template with the words of ${id}. Run agentos ${workflow} ${id} with a model.`;
  const draft = mask(filledTemplate(template, { id, title, body, note }));
  const next = nextVersionNumber(folder);
  const last = readText(join(folder, versionName(next - 1, 'draft')), folder);
  if (last !== draft) {
    const lineage = createLineage(item, folder, next);
    await lineage.add('issue', mask(raw));
    await lineage.add('draft', draft);
  }
  return { status: 'discuss', reason: noModelReason(workflow, id), outputs: [folder] };
}

/** By its form alone: code or words in quotation marks, a path, a number that something is known by, or a part's own name. */
const EVIDENCE = [
  /`[^`\n]+`|["“][^"”\n]{3,}["”]/,
  /(?:^|[\s(])[\w.@-]+\/[\w./@-]*\w|\b[\w-]{2,}\.[a-z]{1,5}\b/i,
  /§|\b\d{3}[a-z]?\b|\b\d+\.\d+\b|\b(?:REQ|AC|F)-?\d+\b|\blines? \d/i,
  /\b(?:section|requirement|scenario|criteri(?:on|a)|issue|brief|open question|diagram|signature|table)s?\b/i,
];

export function namesEvidence(text: string): boolean {
  return EVIDENCE.some((pattern) => pattern.test(text));
}

const CITED = /(?<![\w/:.~@*-])((?:[\w-][\w.-]*\/)+[\w-][\w.-]*\.[A-Za-z]\w{0,5})(?::(\d+))?(?![\w/*])/g;
/** A recommendation may name what is to be made. */
const RECOMMENDED = /^\W*(?:recommendation|suggestion|fix)\b/im;
const HOST = /^[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev)\//i;

function citationsIn(text: string): { path: string; line: number | null }[] {
  const [said = ''] = text.split(RECOMMENDED);
  return [...said.matchAll(CITED)].flatMap(([, path = '', line]) =>
    HOST.test(path) ? [] : [{ path, line: line === undefined ? null : Number(line) }],
  );
}

/**
 * A finding of Tier 1 or 2 has to name what it rests on; one that names nothing, or only what is not there, is marked as a
 * suggestion. The verdict and the tiers stay what the document says. `known`: texts that may name files still to be made.
 */
export async function weighEvidence(review: Review, tree: CitedTree, known: readonly string[]): ReturnType<Weigh> {
  const wrong: string[] = [];
  const weigh = async (finding: Finding): Promise<Finding> => {
    if (finding.tier === 3 || review.verdict === 'APPROVED') return finding;
    const missing = await missingIn(finding.text, tree, known);
    const [title = ''] = finding.text.split('\n', 1);
    wrong.push(...missing.map((what) => `"${title.slice(0, 100)}" cites what is not there: ${what}`));
    return missing.length > 0 || !namesEvidence(finding.text) ? { ...finding, isUnproven: true } : finding;
  };
  const findings: Finding[] = [];
  for (const finding of review.findings) findings.push(await weigh(finding));
  return { review: { ...review, findings }, wrong };
}

async function missingIn(text: string, tree: CitedTree, known: readonly string[]): Promise<string[]> {
  const missing: string[] = [];
  for (const { path, line } of citationsIn(text)) {
    const kind = tree.kindOf(path);
    if (kind === null && !known.some((one) => one.includes(path))) missing.push(path);
    if (kind !== 'file' || line === null) continue;
    const lines = (await tree.read(path)).toString('utf8').replace(/\n$/, '').split('\n').length;
    if (line < 1 || line > lines) missing.push(`${path}:${line} (it has ${lines} lines)`);
  }
  return missing;
}
