// Loaded before the program: its clock is set forwards or backwards by up to two hours, several times a second.
const real = Date.now;
let offset = 0;
setInterval(() => {
  offset = Math.round((Math.random() - 0.5) * 4 * 3_600_000);
}, 300).unref();
const RealDate = Date;
globalThis.Date = class extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(real() + offset);
    else super(...args);
  }

  static now() {
    return real() + offset;
  }
};
