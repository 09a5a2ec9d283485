/*
 * Everything that is done with services, as one chunk of the build: if each of these modules were imported by itself, the build would
 * split what they share from the files of the commands, which would have to load more files.
 */
export { takeAnswers } from './answers.ts';
export { createdFrom, existingLike } from './created-issue.ts';
export { createPublisher, requireWriting } from './publish.ts';
export { dispatch, dispatchedFor, lookAt, pushedReaction } from './reactions.ts';
export { createServices } from './services.ts';
