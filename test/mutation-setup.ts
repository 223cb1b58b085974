import fc from 'fast-check';

// The same cases for each mutant; the first counterexample is enough.
fc.configureGlobal({ seed: 1, endOnFailure: true });
