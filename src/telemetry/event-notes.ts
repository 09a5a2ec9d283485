import type { ItemEvent, RunEvent } from '../core/events.ts';
import type { MaybeAttributes } from './span.ts';

/** An event as a span tells it. */
export interface EventNote {
  name: string;
  attributes: MaybeAttributes;
}

/** What is worth telling of an attempt; null for what spans show, or only people need. */
export function noteOfItem(event: ItemEvent): EventNote | null {
  switch (event.type) {
    case 'step-finished':
      return event.replayed ? { name: 'step replayed', attributes: { 'agentos.step': event.step } } : null;
    case 'draft-checked': {
      const { round, errors, warnings } = event;
      const attributes = {
        'agentos.round': round,
        'agentos.errors': errors.length,
        'agentos.warnings': warnings.length,
      };
      return { name: 'draft checked', attributes };
    }
    case 'review-read': {
      const { round, verdict, tiers, problems } = event;
      const attributes = {
        'agentos.round': round,
        'agentos.verdict': verdict,
        'agentos.findings': tiers.map(String),
        'agentos.problems': problems.length,
      };
      return { name: 'verdict', attributes };
    }
    case 'gate-checked': {
      const { gate, round, passed, skipped, problems } = event;
      const attributes = {
        'agentos.gate': gate,
        'agentos.round': round,
        'agentos.passed': passed,
        'agentos.skipped': skipped,
        'agentos.problems': problems.length,
      };
      return { name: 'gate', attributes };
    }
    case 'reply-rejected':
      return { name: 'reply rejected', attributes: { 'agentos.step': event.step, 'agentos.reason': event.reason } };
    case 'changes-undone': {
      const { step, why, paths } = event;
      return {
        name: 'changes undone',
        attributes: { 'agentos.step': step, 'agentos.reason': why, 'agentos.paths': paths },
      };
    }
    case 'committed': {
      const { branch, commit, what } = event;
      return {
        name: 'committed',
        attributes: { 'vcs.ref.head.name': branch, 'vcs.ref.head.revision': commit, 'agentos.what': what },
      };
    }
    case 'model-substituted': {
      const { role, asked, answered } = event;
      return {
        name: 'model substituted',
        attributes: { 'agentos.role': role, 'gen_ai.request.model': asked, 'gen_ai.response.model': answered },
      };
    }
    case 'quota-waiting':
      return {
        name: 'quota waiting',
        attributes: { 'agentos.vendor': event.vendor, 'agentos.reason': event.reason, 'agentos.for_ms': event.forMs },
      };
    case 'quota-resumed': {
      const attributes = { 'agentos.vendor': event.vendor, 'agentos.waited_ms': event.waitedMs };
      return { name: 'quota resumed', attributes };
    }
    case 'answer-reused':
      return { name: 'answer reused', attributes: { 'agentos.step': event.step } };
    default:
      return null;
  }
}

/** What is worth telling of the whole run. */
export function noteOfRun(event: RunEvent): EventNote | null {
  switch (event.type) {
    case 'warning':
      return { name: 'warning', attributes: { 'agentos.text': event.text } };
    case 'interrupted':
      return { name: 'interrupted', attributes: { 'agentos.signal': event.signal } };
    case 'key-cooling': {
      const { keyId, forMs, why } = event;
      return {
        name: 'key cooling',
        attributes: { 'agentos.key.id': keyId, 'agentos.for_ms': forMs, 'agentos.reason': why },
      };
    }
    case 'key-dead':
      return { name: 'key dead', attributes: { 'agentos.key.id': event.keyId, 'agentos.reason': event.reason } };
    case 'pool-exhausted':
      return {
        name: 'quota exhausted',
        attributes: { 'agentos.vendor': event.vendor, 'agentos.reason': event.reason, 'agentos.for_ms': event.forMs },
      };
    case 'pool-resumed':
      return { name: 'quota back', attributes: { 'agentos.vendor': event.vendor } };
    default:
      return null;
  }
}
