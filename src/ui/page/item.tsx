import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import type { Chapter, ItemStory } from '../api.ts';
import { Loaded, Status, Table, Words } from './bits.tsx';
import { Blocks } from './blocks.tsx';
import { Asked, askDecision, DecideButtons, type Kind } from './decide.tsx';
import { clock, formatDuration, money, short, toneOf, wordOf } from './format.ts';
import { LogView, Transcript, useLog } from './log.tsx';
import { link, route, useKeys } from './navigation.ts';
import { isReport, resource } from './store.ts';

export function Item() {
  const id = route.value.words[0] ?? '';
  const story = resource<'item'>(`item/${id}`).value;
  return <Loaded of={story}>{(data) => <Story key={id} story={data} />}</Loaded>;
}

const STATES: Record<string, { status: string; word: string }> = {
  issue: { status: 'waiting', word: 'to design' },
  lld: { status: 'waiting', word: 'designed' },
  branch: { status: 'succeeded', word: 'on a branch' },
  merged: { status: 'succeeded', word: 'merged' },
  'already-done': { status: 'succeeded', word: 'already done' },
  dropped: { status: 'skipped', word: 'dropped' },
  unreadable: { status: 'failed', word: 'unreadable' },
};

function Story({ story }: { story: ItemStory }) {
  const { id, title, state, waitsFor, reason, branch, pullRequest, costUsd, runs, question, chapters, logs } = story;
  const [at, setAt] = useState(-1);
  const last = logs.at(-1);
  const log = useLog(last === undefined ? null : `${last.runId}/${last.workflow}/${id}`);
  const isRunning = runs[0]?.status === 'running';
  const hasFailed = state !== null && (state === 'issue' || state === 'lld') && toneOf(runs[0]?.status ?? '') === 'bad';
  const standing = isRunning
    ? { status: 'running', word: 'running' }
    : waitsFor === 'person'
      ? { status: 'discuss', word: 'needs you' }
      : hasFailed
        ? { status: runs[0]?.status ?? 'failed', word: wordOf(runs[0]?.status ?? 'failed') }
        : STATES[state ?? ''];
  const move = (by: number): void => {
    const next = Math.min(chapters.length - 1, Math.max(0, at + by));
    setAt(next);
    document.getElementById(chapters[next]?.key ?? '')?.scrollIntoView({ block: 'start' });
  };
  const decide = (kind: Kind): void => askDecision(kind, question === null ? [] : [question]);
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    a: () => decide('approve'),
    r: () => decide('revise'),
    d: () => decide('drop'),
  });
  return (
    <div class="item">
      <header class="page-head">
        <h1>
          <b>{id}</b> {title} {standing && <Status of={standing.status} word={standing.word} />}
        </h1>
        <p class="muted">
          {branch !== null && (
            <>
              <code>{branch}</code> ·{' '}
            </>
          )}
          {pullRequest !== null && (
            <>
              <a href={pullRequest} target="_blank" rel="noopener noreferrer">
                pull request
              </a>{' '}
              ·{' '}
            </>
          )}
          {money(costUsd)} ·{' '}
          {runs.map(({ runId, workflow, startedAt, status }, index) => (
            <span key={runId}>
              {index > 0 && ' · '}
              <a href={link('run', runId)}>
                {workflow} of {clock(Date.parse(startedAt))}
              </a>{' '}
              ({status})
            </span>
          ))}
        </p>
        {reason !== null && question === null && <p class={waitsFor === null ? 'muted' : 'tone-wait'}>{reason}</p>}
        {question !== null && (
          <Asked item={question} heading={<h2>Needs you</h2>}>
            <DecideButtons items={[question]} onDecide={decide} />
          </Asked>
        )}
      </header>
      <div class="story">
        <ol class="chapters">
          {chapters.map((chapter, index) => (
            <OneChapter
              key={chapter.key}
              chapter={chapter}
              isCurrent={index === at}
              transcript={story.transcripts.findLast(({ step }) => chapter.key === `implement-${step}`)?.path ?? null}
            />
          ))}
        </ol>
        <aside class="beside" aria-label="Cost and records">
          <Costs story={story} />
          <Records story={story} />
        </aside>
      </div>
      {!isReport && last !== undefined && <LogView lines={log} isLive={last.isLive} />}
    </div>
  );
}

interface ChapterProps {
  chapter: Chapter;
  isCurrent: boolean;
  /** What the agent did in this step; null: it is not recorded. */
  transcript: string | null;
}

function OneChapter({ chapter, isCurrent, transcript }: ChapterProps) {
  const { key, title, tone, at, facts, gist, blocks, isOpen: opens } = chapter;
  const [isOpen, setOpen] = useState(opens);
  const [isRead, setRead] = useState(false);
  const heading = (
    <>
      <span class="chapter-title">{title}</span>
      {at !== null && <time dateTime={at}>{clock(Date.parse(at))}</time>}
    </>
  );
  return (
    <li id={key} class={`chapter tone-${tone}${isCurrent ? ' current' : ''}`}>
      <h2>
        {blocks.length === 0 ? (
          <span class="chapter-head">{heading}</span>
        ) : (
          <button type="button" class="chapter-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {heading}
          </button>
        )}
      </h2>
      {gist !== '' && (
        <p class="gist">
          <Words text={gist} />
        </p>
      )}
      {facts.length > 0 && <p class="facts">{facts.join(' · ')}</p>}
      {transcript !== null && !isReport && (
        <p class="facts">
          <button type="button" class="link" onClick={() => setRead(true)}>
            What the agent did
          </button>
          {isRead && <Transcript path={transcript} onClose={() => setRead(false)} />}
        </p>
      )}
      {isOpen && blocks.length > 0 && (
        <div class="chapter-body">
          <Blocks blocks={blocks} />
        </div>
      )}
    </li>
  );
}

function Costs({ story: { calls, runs } }: { story: ItemStory }) {
  if (calls.length === 0) return null;
  const total = calls.reduce((sum, { costUsd }) => sum + (costUsd ?? 0), 0);
  return (
    <section>
      <h2>Cost per step</h2>
      <Table
        is="costs"
        label="Cost per step"
        heads={['Step', 'Time', 'Tokens', 'Cost']}
        rightFrom={1}
        foot={
          <tr>
            <th scope="row" colSpan={3}>
              All
            </th>
            <td class="right">{money(total)}</td>
          </tr>
        }
      >
        {calls.map((call, index) => (
          <Fragment key={index}>
            {call.runId !== calls[index - 1]?.runId && (
              <tr>
                <th scope="rowgroup" colSpan={4} class="group-row">
                  <a href={link('run', call.runId)}>
                    {runs.find(({ runId }) => runId === call.runId)?.workflow}, {clock(call.fromMs)}
                  </a>
                </th>
              </tr>
            )}
            <tr title={`${call.role}: ${call.model}`}>
              <td>{call.step}</td>
              <td class="right">{formatDuration(call.toMs - call.fromMs)}</td>
              <td class="right">{short(call.inputTokens + call.outputTokens)}</td>
              <td class="right">{money(call.costUsd)}</td>
            </tr>
          </Fragment>
        ))}
      </Table>
    </section>
  );
}

function Records({ story: { transcripts } }: { story: ItemStory }) {
  const [open, setOpen] = useState<string | null>(null);
  if (transcripts.length === 0 || isReport) return null;
  return (
    <section>
      <h2>What the agents did</h2>
      <ul class="plain">
        {transcripts.map(({ path, step, runId }) => (
          <li key={path}>
            <button type="button" class="link" onClick={() => setOpen(path)}>
              {step}
            </button>{' '}
            <small class="muted">{runId.slice(0, 15)}</small>
          </li>
        ))}
      </ul>
      {open !== null && <Transcript path={open} onClose={() => setOpen(null)} />}
    </section>
  );
}
