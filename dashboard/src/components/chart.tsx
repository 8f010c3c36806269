// uPlot in the page's colours. It draws on a canvas: what it shows is also said in words beside it.
import { useEffect, useRef, useState } from 'react';
import type uPlot from 'uplot';
import type { AlignedData, Options, Series } from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { absolute } from '../words/time.ts';
import { usePreferences } from '../preferences.ts';

export type Line = { label: string; color: string; fill?: boolean };

type Props = {
  label: string;
  /** Seconds, as uPlot counts. */
  times: readonly number[];
  values: readonly (readonly (number | null)[])[];
  lines: readonly Line[];
  format: (value: number) => string;
  /** Which distances between two values of the scale are to be had, where not all are. */
  ticksApart?: readonly number[];
};

const HEIGHT = 180;

const DAY_SECONDS = 86_400;

/** The day where ticks are days apart, else the time of day. */
function tickOf(seconds: number, step: number, isUtc: boolean): string {
  const text = absolute(seconds * 1_000, isUtc);
  return step >= DAY_SECONDS ? text.slice(5, 10) : text.slice(11, 16);
}

export function Chart({ label, times, values, lines, format, ticksApart }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const { isUtc } = usePreferences();
  const data = [times, ...values] as unknown as AlignedData;
  const latest = useRef(data);
  latest.current = data;
  const key = JSON.stringify(lines);
  const UPlot = useUPlot();
  useEffect(() => {
    if (typeof UPlot !== 'function') return;
    const element = place.current!;
    const made = new UPlot(
      optionsOf(UPlot, element.clientWidth, { lines, format, ticksApart, isUtc }),
      latest.current,
      element,
    );
    plot.current = made;
    const fit = (): void => made.setSize({ width: element.clientWidth, height: HEIGHT });
    const watch = new ResizeObserver(fit);
    watch.observe(element);
    // At once, as a batch is: by the next microtask Firefox has its copy.
    const stopRedrawing = onPrint(() =>
      made.batch(() => {
        fit();
        made.redraw();
      }),
    );
    return () => {
      watch.disconnect();
      stopRedrawing();
      made.destroy();
    };
    // Made anew when the lines change, not when values do.
  }, [UPlot, key, isUtc]);
  useEffect(() => plot.current?.setData(data));
  if (UPlot === 'refused') return <p className="muted">This browser refuses to draw the chart.</p>;
  return <div ref={place} role="img" aria-label={label} style={{ height: HEIGHT }} />;
}

/**
 * A canvas is printed as it was drawn, for the window and in its theme. Chromium and Safari tell by the query when the
 * page has the width of the paper, before they print it; Firefox prints a copy, taken after `beforeprint`, which the
 * style makes as wide as the paper.
 */
function onPrint(redraw: () => void): () => void {
  const paper = matchMedia('print');
  paper.addEventListener('change', redraw);
  addEventListener('beforeprint', redraw);
  addEventListener('afterprint', redraw);
  return () => {
    paper.removeEventListener('change', redraw);
    removeEventListener('beforeprint', redraw);
    removeEventListener('afterprint', redraw);
  };
}

/** Apart from the page: uPlot throws as it loads where `Intl` refuses the browser's language, `C` or `en-US@posix`. */
function useUPlot(): typeof uPlot | 'loading' | 'refused' {
  const [state, setState] = useState<typeof uPlot | 'loading' | 'refused'>('loading');
  useEffect(() => {
    void import('uplot').then(
      (module) => setState(() => module.default),
      () => setState('refused'),
    );
  }, []);
  return state;
}

/** A value between gaps: no line leads to it, so it is drawn as a point. */
function lonely(plot: uPlot, index: number): number[] {
  const values = plot.data[index] as (number | null)[];
  return values.flatMap((value, at) =>
    value !== null && values[at - 1] == null && values[at + 1] == null ? [at] : [],
  );
}

function optionsOf(
  UPlot: typeof uPlot,
  width: number,
  { lines, format, ticksApart, isUtc }: Pick<Props, 'lines' | 'format' | 'ticksApart'> & { isUtc: boolean },
): Options {
  const style = getComputedStyle(document.documentElement);
  // Looked up whenever it is drawn: the theme may be another by then, and paper has its own.
  const color = (name: string) => (): string => style.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: color('muted'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
  const font = `12px ${style.getPropertyValue('--font')}`;
  const series = lines.map((line): Series => ({
    label: line.label,
    stroke: color(line.color),
    width: 1.5,
    points: { show: true, size: 4, fill: color(line.color), filter: lonely },
    ...(line.fill && { fill: color(line.color) }),
  }));
  return {
    width,
    height: HEIGHT,
    ...(isUtc && { tzDate: (seconds: number) => UPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC') }),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    // Half of the last label may stand beside the plot.
    padding: [8, 20, 0, 0],
    scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
    axes: [
      {
        ...axis,
        font,
        size: 28,
        grid: { show: false },
        values: (_plot, ticks, _axis, _space, step) => ticks.map((at) => tickOf(at, step, isUtc)),
      },
      {
        ...axis,
        font,
        size: 56,
        values: (_plot, ticks) => ticks.map(format),
        ...(ticksApart !== undefined && { incrs: [...ticksApart] }),
      },
    ],
    series: [{}, ...series],
  };
}
