import { execFileSync, spawnSync } from 'node:child_process';
import { onTestFinished, vi } from 'vitest';

export const tmuxIsMissing = spawnSync('tmux', ['-V']).error !== undefined;

export interface Tmux {
  /** What is on the screen, without empty lines at its end. */
  screen(): string[];
  /** All that was ever printed and not erased, scrolled out of sight or not, lines that wrapped joined again. */
  history(): string[];
  /** Waits until the screen is as wanted, and fails with its assertion if it does not come to that. */
  until(assertion: (screen: string[]) => void): Promise<void>;
  type(...keys: string[]): void;
  resize(columns: number, rows: number): void;
  cursorIsVisible(): boolean;
  /** Every change of colour or style on the screen. */
  colours(): string[];
}

/** A shell in a terminal of its own, on a server of its own that ends with the test. */
export function openTmux(folder: string, columns: number, rows: number, env: Record<string, string> = {}): Tmux {
  const run = (...args: string[]): string =>
    execFileSync('tmux', ['-u', '-L', 'test', '-f', '/dev/null', ...args], {
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] ?? '', HOME: folder, LANG: 'C.UTF-8', TMUX_TMPDIR: folder, ...env },
    });
  run('new-session', '-d', '-x', String(columns), '-y', String(rows), 'exec sh -i');
  onTestFinished(() => void run('kill-server'));
  const lines = (text: string): string[] => text.trimEnd().split('\n');
  const screen = (): string[] => lines(run('capture-pane', '-p'));
  return {
    screen,
    history: () => lines(run('capture-pane', '-p', '-J', '-S', '-')).map((line) => line.trimEnd()),
    until: (assertion) => vi.waitFor(() => assertion(screen()), { timeout: 20_000, interval: 20 }),
    type: (...keys) => void run('send-keys', ...keys),
    resize: (width, height) => void run('resize-window', '-x', String(width), '-y', String(height)),
    cursorIsVisible: () => run('display-message', '-p', '#{cursor_flag}').trim() === '1',
    colours: () => run('capture-pane', '-p', '-e').split('\u001B[').slice(1),
  };
}
