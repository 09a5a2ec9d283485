import type { Call } from '../../core/timeline.ts';
import { isDecision } from '../../documents/decision.ts';
import { readFrontMatter } from '../../documents/header.ts';
import { readReview } from '../../documents/review/reader.ts';
import type { Block, Chapter, Tone } from '../api.ts';
import {
  callFacts,
  callsOfStep,
  type ItemAgentosEvent,
  ledgerChapter,
  points,
  verdictGist,
  verdictTone,
} from './chapter.ts';
import type { Version } from './item-versions.ts';
import { documentBlocks, documentDiff } from './tree.ts';

interface DesignFacts {
  versions: readonly Version[];
  /** The events of the workflow that wrote the versions. */
  events: readonly ItemAgentosEvent[];
  calls: readonly Call[];
}

/** How an issue or brief became a document: drafts with their changes, reviews, decisions, and the end. */
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
        // The following drafts are for the new text.
        round = 0;
        draft = null;
        break;
      }
      case 'draft': {
        round += 1;
        const facts = callFacts(calls, stepsOfDraft(round));
        const checks = checksOf(events, round);
        const blocks = [...changes(draft, version), ...checks.blocks, ...documentBlocks(version.text)];
        chapters.push({ ...chapter, title: `Draft ${round}`, tone: checks.tone, facts, gist: checks.gist, blocks });
        draft = version;
        break;
      }
      case 'verdict':
        chapters.push(isDecision(version.text) ? decision(chapter, version) : review(chapter, version, round, calls));
        break;
      case 'final':
        chapters.push({ ...chapter, ...ending(version.text), blocks: documentBlocks(version.text) });
    }
  }
  return [...chapters, ...ledgerChapter(events, 'Findings over the rounds')];
}

type Begun = Pick<Chapter, 'key' | 'at' | 'facts' | 'isOpen'>;

function stepsOfDraft(round: number): RegExp {
  return callsOfStep(`${round === 1 ? 'draft' : `revise-${round - 1}`}|repair-${round}-\\d+`);
}

function changes(before: Version | null, after: Version): Block[] {
  const file = before === null ? null : documentDiff(after.path, before.text, after.text);
  return file === null || before === null ? [] : [{ type: 'diff', title: `Since ${before.path}`, files: [file] }];
}

/** The results of the mechanical checks of the draft that the reviewer got. */
function checksOf(events: readonly ItemAgentosEvent[], round: number): { gist: string; tone: Tone; blocks: Block[] } {
  const last = events.findLast((event) => event.type === 'draft-checked' && event.round === round);
  if (last?.type !== 'draft-checked') return { gist: '', tone: 'plain', blocks: [] };
  const { errors, warnings, coverage } = last;
  const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? '' : 's'}`;
  const blocks = [
    ...points('Errors of the mechanical checks', errors),
    ...points('Warnings of the mechanical checks', warnings),
    ...documentBlocks(coverage && `#### Requirements and their tests\n\n${coverage}`),
  ];
  const found = [
    ...(errors.length > 0 ? [count(errors.length, 'error')] : []),
    ...(warnings.length > 0 ? [count(warnings.length, 'warning')] : []),
  ];
  const gist = found.length === 0 ? 'passes the mechanical checks' : `mechanical checks: ${found.join(', ')}`;
  return { gist, tone: errors.length > 0 ? 'bad' : 'plain', blocks };
}

function review(begun: Begun, { text }: Version, round: number, calls: readonly Call[]): Chapter {
  const { verdict, findings, summary } = readReview(text);
  const tiers = [1, 2, 3].map((tier) => findings.filter((finding) => finding.tier === tier).length);
  return {
    ...begun,
    title: `Review ${round}`,
    tone: verdictTone(verdict),
    facts: callFacts(calls, callsOfStep(`review-${round}`)),
    gist: `${verdictGist(verdict, tiers)}${summary ? `. ${summary}` : ''}`,
    blocks: documentBlocks(text),
  };
}

function decision(begun: Begun, { text }: Version): Chapter {
  const chosen = /^\[x\] \*\*(\w+)\*\*/m.exec(text)?.[1] ?? '';
  const by = /^(.*), a person, on /m.exec(text)?.[1] ?? 'a person';
  const tone = chosen === 'APPROVED' ? 'good' : 'plain';
  return { ...begun, title: 'Decision', tone, gist: `${chosen} by ${by}`, blocks: documentBlocks(text), isOpen: true };
}

/** A final version is the approved document, or the record of why there is none. */
function ending(text: string): Pick<Chapter, 'title' | 'tone' | 'gist'> {
  const { fields } = readFrontMatter(text);
  const said = (name: string): string => (typeof fields[name] === 'string' ? fields[name] : '');
  const status = said('status');
  const title = status === 'dropped' ? 'Dropped' : status === 'already-done' ? 'Already done' : 'Approved';
  const rounds = typeof fields['rounds'] === 'number' ? `after ${fields['rounds']} round(s)` : '';
  const gist = [said('reviewer') && `by ${said('reviewer')}`, rounds].filter(Boolean).join(' ');
  return { title, tone: title === 'Dropped' ? 'plain' : 'good', gist };
}
