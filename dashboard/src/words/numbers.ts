const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export function count(value: number): string {
  return value >= 1_000_000 ? short.format(value) : whole.format(value);
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Of a rate: small ones keep two digits. */
export function rate(value: number): string {
  return value < 10 ? String(Number(value.toPrecision(2))) : count(value);
}

/** 0.99957 is 99.95 %, never 100: a failure must not be rounded away. */
export function percent(share: number): string {
  if (share === 0 || share === 1) return `${share * 100} %`;
  const floored = Math.floor(share * 10_000) / 100;
  return `${floored >= 99 || floored < 1 ? floored.toFixed(2) : floored.toFixed(1)} %`;
}

export function seconds(value: number): string {
  if (value < 0.001) return '< 1 ms';
  if (value < 1) return `${Math.round(value * 1_000)} ms`;
  return value < 10 ? `${Number(value.toFixed(1))} s` : `${whole.format(value)} s`;
}
