/*
 * All that is done with services, in one file of the build: each module that is loaded by itself would cut what it shares with the
 * others out of the commands' files, and those load one by one.
 */
export { takeAnswers } from './answers.ts';
export { createdFrom, existingLike } from './created-issue.ts';
export { createPublisher, requireWriting } from './publish.ts';
export { dispatch, dispatchedFor, lookAt, pushedReaction } from './reactions.ts';
export { createServices } from './services.ts';
