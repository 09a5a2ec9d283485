import type { Tone } from '../api.ts';

export { formatDuration } from '../../core/duration.ts';

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const SECONDS = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** `$0`, `$0.0042`, `$0.25`, `$1,204`; unknown: `–`. */
export function money(usd: number | null): string {
  if (usd === null) return '–';
  if (usd === 0) return '$0';
  if (usd < 0.01) return `$${usd.toFixed(4)}`;
  return usd < 1_000 ? `$${usd.toFixed(2)}` : `$${Math.round(usd).toLocaleString('en')}`;
}

export function count(value: number): string {
  return value.toLocaleString('en');
}

/** `12.3k` */
export function short(value: number): string {
  if (value < 1_000) return String(value);
  return value < 999_950 ? `${(value / 1_000).toFixed(1).replace(/\.0$/, '')}k` : `${(value / 1_000_000).toFixed(2)}M`;
}

/** `15:04`, with the day where it is not today. */
export function clock(ms: number, withSeconds = false): string {
  const date = new Date(ms);
  const time = (withSeconds ? SECONDS : CLOCK).format(date);
  return date.toDateString() === new Date().toDateString() ? time : `${DAY.format(date)}, ${time}`;
}

export function day(ms: number): string {
  return DAY.format(new Date(ms));
}

/** `just now`, `4 min ago`, `3 h ago`, `2 days ago`. */
export function ago(ms: number, nowMs: number): string {
  const minutes = Math.floor((nowMs - ms) / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  if (hours < 36) return `${hours} h ago`;
  return `${Math.floor(hours / 24)} days ago`;
}

export function plural(many: number, one: string): string {
  return `${count(many)} ${one}${many === 1 ? '' : 's'}`;
}

/** `ANTHROPIC_API_KEYS#2` is `ANTHROPIC#2`: all of them are keys. */
export function shortKey(id: string): string {
  const name = id.replace(/_API_KEYS?/, '');
  return name.length > 16 ? `${name.slice(0, 15)}…` : name;
}

/** What a status means: the same colour and word everywhere. */
const STATUSES: Record<string, { tone: Tone | 'quota'; word: string }> = {
  succeeded: { tone: 'good', word: 'done' },
  skipped: { tone: 'plain', word: 'skipped' },
  discuss: { tone: 'wait', word: 'needs you' },
  failed: { tone: 'bad', word: 'failed' },
  'timed-out': { tone: 'bad', word: 'timed out' },
  'over-budget': { tone: 'bad', word: 'over budget' },
  stalled: { tone: 'bad', word: 'stalled' },
  crashed: { tone: 'bad', word: 'crashed' },
  paused: { tone: 'quota', word: 'paused' },
  cancelled: { tone: 'plain', word: 'cancelled' },
  running: { tone: 'active', word: 'running' },
  waiting: { tone: 'plain', word: 'waiting' },
  interrupted: { tone: 'plain', word: 'interrupted' },
  finished: { tone: 'good', word: 'finished' },
};

export function toneOf(status: string): Tone | 'quota' {
  return STATUSES[status]?.tone ?? 'plain';
}

export function wordOf(status: string): string {
  return STATUSES[status]?.word ?? status;
}
