import { formatDuration } from './duration.js';
import { findTea } from './teas.js';

const CUP_ML = 250;
const MOST_CUPS = 12;

/** What to put into the pot, and for how long. */
export function brew(name, cups = 1) {
  if (!Number.isInteger(cups) || cups < 1 || cups > MOST_CUPS) {
    throw new RangeError(`Cups are a whole number from 1 to ${MOST_CUPS}`);
  }
  const tea = findTea(name);
  return {
    tea: tea.name,
    cups,
    waterMl: cups * CUP_ML,
    leavesGrams: cups * tea.leavesGrams,
    celsius: tea.celsius,
    seconds: tea.seconds,
  };
}

/** A plan of `brew` as one line for people. */
export function describe(plan) {
  const cups = plan.cups === 1 ? '1 cup' : `${plan.cups} cups`;
  const pot = `${plan.leavesGrams} g in ${plan.waterMl} ml at ${plan.celsius} °C`;
  return `${plan.tea}, ${cups}: ${pot} for ${formatDuration(plan.seconds)}`;
}
