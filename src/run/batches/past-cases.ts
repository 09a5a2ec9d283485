import { dirname, join } from 'node:path';
import type { ReviewResult, ReviewSaid } from '../../core/evaluation.ts';
import { type ItemId, isItemId } from '../../core/ids.ts';
import { isDecision } from '../../documents/decision.ts';
import { type Headed, readHeader } from '../../documents/header.ts';
import { designFacts, isLld } from '../../documents/lld/document.ts';
import { isTrustworthy, readReview } from '../../documents/review/reader.ts';
import { commitFiles } from '../../git/repository.ts';
import { namesInside, readText } from '../../process/files.ts';
import { parseIssue } from '../../source/directory.ts';
import { readReportStatus } from '../../verification/report.ts';
import { editedLld, readLldFile } from '../../workflow/approved-documents.ts';
import { parseVersionName } from '../../workflow/lineage.ts';
import {
  confirmedFindings,
  fileAgreement,
  type LaterChange,
  type PastCase,
  type PastReview,
  saysTheSame,
} from '../../workflow/replay.ts';
import type { Project } from '../project.ts';

interface PastItem {
  id: ItemId;
  title: string;
  cases: PastCase[];
}

/** The items that have a lineage, in natural order. */
export async function pastIds({ paths }: Project): Promise<ItemId[]> {
  const names = namesInside(paths.lineages, paths.repository).filter(isItemId);
  return names.sort(new Intl.Collator('en', { numeric: true }).compare);
}

/**
 * What can be replayed of an item: each reviewed draft of an approved LLD, and the whole design of the last one. A design that was
 * never approved is skipped, because its commit is unknown.
 */
export async function pastItem(project: Project, id: ItemId): Promise<PastItem> {
  const { paths, git } = project;
  const passes = await readPasses(paths.lineage(id));
  const report = await commitFiles(git, 'HEAD').read(paths.report(id));
  const now = await readLldFile(paths.lld(id));
  const cases: PastCase[] = [];
  for (const [index, pass] of passes.entries()) {
    const { final } = pass;
    const commit = final?.header.baseCommit ?? null;
    if (final === null || commit === null || !/^[0-9a-f]{40,64}$/.test(commit) || !(await git.hasCommit(commit)))
      continue;
    const after = passes[index + 1];
    const isMerged = readReportStatus(report)?.lldHash === final.header.bodyHash;
    const edited = after === undefined ? now && editedLld(now) : sameIssue(pass, after) ? after.drafts[0]?.text : null;
    const end: PassEnd = { final, isMerged, edited: edited && !saysTheSame(final.body, edited) ? edited : null };
    cases.push(...reviewsOf(id, pass, { ...end, commit }));
    if (pass !== passes.findLast((other) => other.final !== null)) continue;
    const files = isMerged ? filesOf(report) : designFacts(final.body).files;
    const asked = pass.drafts.some(({ review, decision }) => review.verdict === 'DISCUSS' || decision !== null);
    cases.push({
      kind: 'design',
      case: id,
      issue: pass.issue,
      commit,
      files,
      recorded: {
        verdict: asked ? 'DISCUSS' : 'APPROVED',
        rounds: pass.drafts.length,
        repairs: null,
        files: isMerged ? fileAgreement(designFacts(final.body).files, files) : null,
      },
    });
  }
  return { id, title: parseIssue(id, passes.at(-1)?.issue ?? '').title, cases };
}

/** The versions from one text of an issue to its final LLD. */
interface Pass {
  issue: string;
  /** The reviewed drafts. */
  drafts: ReviewedDraft[];
  /** The approved LLD; null: there is none. */
  final: Headed | null;
}

interface ReviewedDraft {
  number: number;
  text: string;
  review: Pick<ReviewSaid, 'verdict'> & { findings: string[] };
  /** A person's decision on it; null: none, or drop. */
  decision: 'APPROVED' | 'REVISE' | null;
}

async function readPasses(folder: string): Promise<Pass[]> {
  const versions = namesInside(folder, dirname(folder))
    .flatMap((name) => {
      const version = parseVersionName(name);
      return version === null ? [] : [{ ...version, path: join(folder, name) }];
    })
    .sort((a, b) => a.number - b.number);
  const passes: Pass[] = [];
  let draft: { number: number; text: string } | null = null;
  for (const { number, kind, path } of versions) {
    const text = readText(path, folder) ?? '';
    const pass = passes.at(-1);
    if (kind === 'issue') passes.push({ issue: text, drafts: [], final: null });
    if (kind === 'issue' || pass === undefined || pass.final !== null) continue;
    if (kind === 'draft') draft = isLld(text) ? { number, text } : null;
    else if (kind === 'verdict' && isDecision(text)) {
      // A decision on a draft that was not reviewed says nothing about the draft before it.
      const last = draft === null ? pass.drafts.at(-1) : undefined;
      const { verdict } = readReview(text);
      if (last && verdict !== 'DISCUSS') last.decision = verdict;
    } else if (kind === 'verdict' && draft !== null) {
      pass.drafts.push({ ...draft, review: readVerdict(text), decision: null });
      draft = null;
    } else if (kind === 'final') {
      const final = readHeader(text);
      if (final.header.status === 'approved' && isLld(final.body)) pass.final = final;
    }
  }
  return passes.filter(({ drafts }) => drafts.length > 0);
}

/** Read as in the review loop: an untrustworthy review counts as DISCUSS. */
function readVerdict(text: string): ReviewedDraft['review'] {
  const review = readReview(text);
  const findings = review.findings.filter(({ tier }) => tier < 3).map((finding) => finding.text);
  return { verdict: isTrustworthy(review) ? (review.verdict ?? 'DISCUSS') : 'DISCUSS', findings };
}

function sameIssue(one: Pass, other: Pass): boolean {
  const hashOf = ({ issue }: Pass): string => parseIssue('0' as ItemId, issue).hash;
  return hashOf(one) === hashOf(other);
}

interface PassEnd {
  final: Headed;
  isMerged: boolean;
  /** The approved LLD as a person edited it later; null: not edited. */
  edited: string | null;
}

function reviewsOf(id: ItemId, { issue, drafts }: Pass, end: PassEnd & { commit: string }): PastReview[] {
  const { final, edited, commit } = end;
  const last = drafts.at(-1);
  return drafts.flatMap((draft, index) => {
    const truth = truthOf(drafts.slice(index), end);
    if (truth === null || last === undefined) return [];
    const later: LaterChange[] = [[draft.text, last.text], ...(edited === null ? [] : [[final.body, edited] as const])];
    const { verdict, findings } = draft.review;
    const confirmed = confirmedFindings(findings, later);
    const recorded = { verdict, findings: findings.length, confirmed };
    const name = `${id}/${String(draft.number).padStart(3, '0')}`;
    return { kind: 'review', case: name, issue, commit, draft: draft.text, later, ...truth, recorded };
  });
}

type Truth = Pick<ReviewResult, 'right' | 'because'>;

/** The right verdict on the first of these drafts, judged by what happened later; a person's decision comes first. */
function truthOf([draft, ...rest]: readonly ReviewedDraft[], end: PassEnd): Truth | null {
  if (draft === undefined) return null;
  if (draft.decision !== null) return { right: draft.decision, because: 'decision' };
  const [next] = rest;
  if (next !== undefined)
    return saysTheSame(draft.text, next.text) ? truthOf(rest, end) : { right: 'REVISE', because: 'revised' };
  if (end.edited !== null) return { right: 'REVISE', because: 'edited' };
  return { right: 'APPROVED', because: end.isMerged ? 'merged' : 'approved' };
}

/** The files that a report says were changed. */
function filesOf(report: string): string[] {
  return [...report.matchAll(/^\| `([^`]+)` \| (?:added|modified|deleted) \|/gm)].flatMap(([, path]) => path ?? []);
}
