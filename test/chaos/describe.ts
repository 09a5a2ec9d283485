import type { Fault, Scenario } from './scenario.ts';

/** A scenario in one line. */
export function describe({ world, acts, vendorFaults, resumeWith }: Scenario): string {
  const { workflow, ids, models, parallel, state, smallDisk, isHasty } = world;
  const place = `${state === 'outside' ? ', state outside' : ''}${smallDisk === 'nothing' ? '' : `, small disk (${smallDisk})`}`;
  const what = `${workflow} ×${ids.length} by ${models}, parallel ${parallel}${place}${isHasty ? ', hasty' : ''}`;
  const faults = acts.map(({ deleted, faults: injected, end }) =>
    [
      ...(deleted === null ? [] : [`delete ${deleted} before`]),
      ...injected.map(describeFault),
      ...(end === null ? [] : [`then ${describeFault(end)}`]),
    ].join(' + '),
  );
  const vendor =
    vendorFaults.length === 0 ? '' : ` | vendor ${vendorFaults.map(([call, fault]) => `${fault}@${call}`).join(' ')}`;
  return `${what} | ${faults.join(' ; ')}${vendor} | ${resumeWith}`;
}

export function describeFault(fault: Fault): string {
  const { event, nth, plusMs } = fault.moment;
  const when = event === null ? `${plusMs} ms` : `${event}#${nth}${plusMs === 0 ? '' : `+${plusMs}`}`;
  return `${nameOf(fault)}@${when}`;
}

export function nameOf(fault: Fault): string {
  switch (fault.kind) {
    case 'kill':
      return `kill-${fault.whom}`;
    case 'kill-git':
      return fault.how.at === 'ref' ? 'kill-git(ref)' : `kill-git(${fault.verb} ${fault.how.afterMs} ms)`;
    case 'stop':
      return `stop-${fault.whom}(${fault.forMs} ms)`;
    case 'signal':
      return fault.signals.join('+');
    case 'disk-full':
      return fault.forMs === null ? 'disk-full' : `disk-full(${fault.forMs} ms)`;
    case 'read-only':
      return `read-only(${fault.what}${fault.forMs === null ? '' : ` ${fault.forMs} ms`})`;
    case 'delete':
      return `delete(${fault.what})`;
    case 'second-program':
      return fault.command === 'same' ? 'second-program' : 'clean-beside';
    case 'clock':
      return `clock(${fault.bySeconds} s)`;
  }
}
