import { openStateStore } from '../../src/state/open-state-store.ts';
import { inboxSuite } from './inbox-suite.ts';

inboxSuite({ name: 'memory', fresh: () => 'memory:', open: openStateStore });
