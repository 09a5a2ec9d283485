import type { LedgerEntry } from '../../core/events.ts';
import type { Call } from '../../core/timeline.ts';
import { isDecision } from '../../documents/decision.ts';
import { readFrontMatter } from '../../documents/header.ts';
import { readReview } from '../../documents/review/reader.ts';
import type { Version } from '../../run/item-versions.ts';
import type { Block, Chapter, Tone } from '../api.ts';
import { documentDiff } from '../tree/diff.ts';
import { markdownTree } from '../tree/markdown.ts';
import { callFacts } from './call-facts.ts';
import type { ItemAgentosEvent } from './item-events.ts';

interface DesignFacts {
  versions: readonly Version[];
  /** Of the workflow that wrote them. */
  events: readonly ItemAgentosEvent[];
  calls: readonly Call[];
}

/** How an issue, or a brief, became a document: drafts with what changed, reviews, decisions, and how it ended. */
export function designChapters({ versions, events, calls }: DesignFacts): Chapter[] {
  const times = new Map(
    events.flatMap((event) => (event.type === 'file-written' ? [[event.path, event.at] as const] : [])),
  );
  const chapters: Chapter[] = [];
  let round = 0;
  let issue: Version | null = null;
  let draft: Version | null = null;
  for (const version of versions) {
    const at = times.get(version.path) ?? version.at;
    const chapter = { key: `v${version.number}`, at, facts: [], isOpen: false } as const;
    switch (version.kind) {
      case 'issue': {
        if (issue !== null && issue.text !== version.text)
          chapters.push({
            ...chapter,
            title: 'The issue changed',
            tone: 'plain',
            gist: '',
            blocks: changes(issue, version),
          });
        issue = version;
        // What follows is designed for another text.
        round = 0;
        draft = null;
        break;
      }
      case 'draft': {
        round += 1;
        const facts = callFacts(calls, stepsOfDraft(round));
        const checks = checksOf(events, round);
        const blocks = [...changes(draft, version), ...checks.blocks, document(version.text)];
        chapters.push({ ...chapter, title: `Draft ${round}`, tone: checks.tone, facts, gist: checks.gist, blocks });
        draft = version;
        break;
      }
      case 'verdict':
        chapters.push(isDecision(version.text) ? decision(chapter, version) : review(chapter, version, round, calls));
        break;
      case 'final':
        chapters.push({ ...chapter, ...ending(version.text), blocks: [document(version.text)] });
    }
  }
  return [...chapters, ...ledgerChapter(events, 'Findings over the rounds')];
}

type Begun = Pick<Chapter, 'key' | 'at' | 'facts' | 'isOpen'>;

function stepsOfDraft(round: number): RegExp {
  return new RegExp(
    `^(?:${round === 1 ? 'draft' : `revise-${round - 1}(?:-again)?`}|repair-${round}-\\d+)(?:\\.\\d+)?$`,
  );
}

function document(text: string): Block {
  return { type: 'markdown', tree: markdownTree(text) };
}

function changes(before: Version | null, after: Version): Block[] {
  const file = before === null ? null : documentDiff(after.path, before.text, after.text);
  return file === null || before === null ? [] : [{ type: 'diff', title: `Since ${before.path}`, files: [file] }];
}

/** What the mechanical checks said of the draft as it went to the reviewer. */
function checksOf(events: readonly ItemAgentosEvent[], round: number): { gist: string; tone: Tone; blocks: Block[] } {
  const last = events.findLast((event) => event.type === 'draft-checked' && event.round === round);
  if (last?.type !== 'draft-checked') return { gist: '', tone: 'plain', blocks: [] };
  const { errors, warnings, coverage } = last;
  const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`;
  const blocks: Block[] = [];
  if (errors.length > 0) blocks.push({ type: 'points', title: 'Errors of the mechanical checks', points: errors });
  if (warnings.length > 0)
    blocks.push({ type: 'points', title: 'Warnings of the mechanical checks', points: warnings });
  if (coverage !== '') blocks.push(document(`#### Requirements and their tests\n\n${coverage}`));
  const found = [
    ...(errors.length > 0 ? [count(errors.length, 'error')] : []),
    ...(warnings.length > 0 ? [count(warnings.length, 'warning')] : []),
  ];
  const gist = found.length === 0 ? 'passes the mechanical checks' : `mechanical checks: ${found.join(', ')}`;
  return { gist, tone: errors.length > 0 ? 'bad' : 'plain', blocks };
}

function review(begun: Begun, { text }: Version, round: number, calls: readonly Call[]): Chapter {
  const { verdict, findings, summary } = readReview(text);
  const tiers = [1, 2, 3].flatMap((tier) => {
    const many = findings.filter((finding) => finding.tier === tier).length;
    return many === 0 ? [] : [`${many} in Tier ${tier}`];
  });
  const facts = callFacts(calls, new RegExp(`^review-${round}(?:-again)?(?:\\.\\d+)?$`));
  const gist = [verdict ?? 'no verdict', tiers.length === 0 ? 'no findings' : tiers.join(', ')].join(': ');
  const title = `Review ${round}`;
  const blocks: Block[] = [document(text)];
  return {
    ...begun,
    title,
    tone: verdictTone(verdict),
    facts,
    gist: `${gist}${summary ? `. ${summary}` : ''}`,
    blocks,
  };
}

export function verdictTone(verdict: string | null): Tone {
  return verdict === 'APPROVED' ? 'good' : verdict === 'REVISE' ? 'plain' : 'wait';
}

function decision(begun: Begun, { text }: Version): Chapter {
  const chosen = /^\[x\] \*\*(\w+)\*\*/m.exec(text)?.[1] ?? '';
  const by = /^(.*), a person, on /m.exec(text)?.[1] ?? 'a person';
  const tone = chosen === 'APPROVED' ? 'good' : 'plain';
  return { ...begun, title: 'Decision', tone, gist: `${chosen} by ${by}`, blocks: [document(text)], isOpen: true };
}

/** A final version is the approved document, or the record why nothing was approved. */
function ending(text: string): Pick<Chapter, 'title' | 'tone' | 'gist'> {
  const { fields } = readFrontMatter(text);
  const said = (name: string): string => (typeof fields[name] === 'string' ? fields[name] : '');
  const status = said('status');
  const title = status === 'dropped' ? 'Dropped' : status === 'already-done' ? 'Already done' : 'Approved';
  const rounds = typeof fields['rounds'] === 'number' ? `after ${fields['rounds']} round(s)` : '';
  const gist = [said('reviewer') && `by ${said('reviewer')}`, rounds].filter(Boolean).join(' ');
  return { title, tone: title === 'Dropped' ? 'plain' : 'good', gist };
}

/** Every finding with the rounds in which it was raised and settled, as the last review, revision or decision left it. */
export function ledgerChapter(events: readonly ItemAgentosEvent[], title: string): Chapter[] {
  const last = events.findLast((event) => event.type === 'ledger-updated');
  if (last?.type !== 'ledger-updated' || last.findings.length === 0) return [];
  const { findings } = last;
  const states: LedgerEntry['state'][] = ['open', 'disputed', 'fixed', 'withdrawn'];
  const gist = states
    .flatMap((state) => {
      const many = findings.filter((finding) => finding.state === state).length;
      return many === 0 ? [] : [`${many} ${state}`];
    })
    .join(', ');
  const key = `findings-${last.workflow}`;
  const isOpen = findings.length <= 12;
  return [{ key, title, tone: 'plain', at: last.at, facts: [], gist, blocks: [{ type: 'ledger', findings }], isOpen }];
}
