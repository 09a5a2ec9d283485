import { signal } from '@preact/signals';

/** The time, for what counts up or down on a page. */
export const nowMs = signal(Date.now());

setInterval(() => {
  if (!document.hidden) nowMs.value = Date.now();
}, 1_000);
