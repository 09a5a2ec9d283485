import { useEffect, useMemo } from 'preact/hooks';
import type { Spending } from '../../core/timeline.ts';
import type { Money as MoneyData } from '../api.ts';
import { Card, Empty, Figure, Loaded } from './bits.tsx';
import { KeyTable, SpendChart } from './charts.tsx';
import { clock, count, formatDuration, money, plural, short } from './format.ts';
import { link } from './navigation.ts';
import { follow, nowMs, resource } from './store.ts';

export function Money() {
  useEffect(() => follow({}), []);
  const data = resource<'money'>('money').value;
  return <Loaded of={data}>{(all) => <Shown data={all} />}</Loaded>;
}

const DAY_MS = 86_400_000;

function Shown({ data }: { data: MoneyData }) {
  const { spending, items, runs, outlooks, keys, unreadRuns } = data;
  const sum = (rows: readonly Spending[]): number => rows.reduce((total, { costUsd }) => total + costUsd, 0);
  const since = (days: number): Spending[] =>
    spending.filter(({ hour }) => Date.parse(`${hour}:00Z`) > nowMs.value - days * DAY_MS);
  const unpriced = spending.reduce((total, row) => total + row.unpriced, 0);
  if (runs.length === 0)
    return (
      <Empty page="Keys and money" title="Nothing was paid yet.">
        <p>What runs cost, by day, model, role and item, is shown here.</p>
      </Empty>
    );
  return (
    <div class="money">
      <header class="page-head">
        <h1>Keys and money</h1>
        <p class="muted">
          from {plural(runs.length, 'run')}
          {unreadRuns > 0 && `; ${plural(unreadRuns, 'older run')} not counted`}
          {unpriced > 0 && `; ${plural(unpriced, 'call')} without a known price`}
        </p>
      </header>
      <section class="figures" aria-label="Figures">
        <dl>
          <Figure name="Last 24 hours" value={money(sum(since(1)))} />
          <Figure name="Last 7 days" value={money(sum(since(7)))} />
          <Figure name="Last 30 days" value={money(sum(since(30)))} />
          <Figure
            name="All runs here"
            value={money(sum(spending))}
            note={plural(
              spending.reduce((total, { calls }) => total + calls, 0),
              'call',
            )}
          />
        </dl>
      </section>
      {outlooks.map((outlook) => (
        <OutlookCard key={outlook.runId} outlook={outlook} />
      ))}
      <Card title="Spend per day">
        <SpendChart spending={spending} />
      </Card>
      <div class="pair">
        <Card title="By model">
          <Shares rows={grouped(spending, ({ model }) => model)} />
        </Card>
        <Card title="By role">
          <Shares rows={grouped(spending, ({ role }) => role)} />
        </Card>
      </div>
      <div class="pair">
        <Card title="By item">
          <Shares
            rows={items
              .slice(0, 12)
              .map(({ id, title, costUsd }) => ({ name: id, text: title, costUsd, href: link('item', id) }))}
          />
        </Card>
        <Card title="Keys">
          {keys.length === 0 ? (
            <p class="muted">No keys are set here. agentos keys shows the same.</p>
          ) : (
            <KeyTable keys={keys} run={null} />
          )}
        </Card>
      </div>
    </div>
  );
}

function OutlookCard({ outlook }: { outlook: MoneyData['outlooks'][number] }) {
  const { runId, endsAtMs, costUsd, from, waits } = outlook;
  return (
    <Card title="Outlook of the run under way" aside={<a href={link('run', runId)}>{runId.slice(0, 15)}</a>}>
      {endsAtMs === null ? (
        <p class="muted">Too early to tell: no item has ended.</p>
      ) : (
        <p>
          At the pace of {plural(from, 'item')} it ends at <strong>{clock(endsAtMs)}</strong>, in{' '}
          {formatDuration(Math.max(0, endsAtMs - nowMs.value))}
          {costUsd !== null && costUsd > 0 && (
            <>
              , and costs about <strong>{money(costUsd)}</strong>
            </>
          )}
          .
        </p>
      )}
      {waits.map(({ vendor, untilMs, endsBefore }) => (
        <p key={vendor} class="tone-wait">
          No key of {vendor} has quota left{untilMs !== null && ` until ${clock(untilMs)}`}.{' '}
          {untilMs === null ? '' : endsBefore ? 'The run would end before that.' : 'The run has to wait for it.'}
        </p>
      ))}
    </Card>
  );
}

interface Share {
  name: string;
  text?: string;
  calls?: number;
  tokens?: number;
  costUsd: number;
  href?: string;
}

function grouped(spending: readonly Spending[], by: (row: Spending) => string): Share[] {
  const sums = new Map<string, Required<Pick<Share, 'calls' | 'tokens' | 'costUsd'>>>();
  for (const row of spending) {
    const before = sums.get(by(row)) ?? { calls: 0, tokens: 0, costUsd: 0 };
    sums.set(by(row), {
      calls: before.calls + row.calls,
      tokens: before.tokens + row.usage.inputTokens + row.usage.outputTokens,
      costUsd: before.costUsd + row.costUsd,
    });
  }
  return [...sums]
    .map(([name, rest]) => ({ name, ...rest }))
    .sort((a, b) => b.costUsd - a.costUsd || b.calls - a.calls);
}

/** Rows with bars, relative to the largest. */
function Shares({ rows }: { rows: readonly Share[] }) {
  const most = useMemo(() => Math.max(0, ...rows.map(({ costUsd }) => costUsd)), [rows]);
  if (rows.length === 0) return <p class="muted">Nothing was paid.</p>;
  return (
    <ul class="shares">
      {rows.map(({ name, text, calls, tokens, costUsd, href }) => (
        <li key={name}>
          <span class="share-name">
            {href === undefined ? <b>{name}</b> : <a href={href}>{name}</a>} {text}
            {calls !== undefined && (
              <small class="muted">
                {' '}
                {count(calls)} calls, {short(tokens ?? 0)} tokens
              </small>
            )}
          </span>
          <span class="number">{money(costUsd)}</span>
          <i class="share-bar" aria-hidden="true" style={{ width: `${most === 0 ? 0 : (costUsd / most) * 100}%` }} />
        </li>
      ))}
    </ul>
  );
}
