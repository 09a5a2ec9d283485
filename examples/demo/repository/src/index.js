export { brew, describe } from './brew.js';
export { formatDuration } from './duration.js';
export { findTea, teas } from './teas.js';
