import { runShare } from '@gatehouse/test/run-share';

runShare(import.meta.url);
