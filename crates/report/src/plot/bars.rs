//! A bar per shot: as wide as the shot is long, as high as its setting.

use super::{Anchor, CURVES, Canvas, Drawing, FAINT_INK, INK, Lettering, PAPER, PlotError};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = WIDTH - 20.0;
const BOTTOM: f64 = HEIGHT - 52.0;
/// The highest bar ends here; its label stands above.
const HIGHEST: f64 = 72.0;
/// A narrower bar has no space for text.
const WORDS: f64 = 26.0;

/// One bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// From where to where it goes along the axis.
    pub from: f64,
    pub to: f64,
    pub height: f64,
    /// What stands above it, and inside.
    pub label: String,
    pub inner: String,
    /// Whether it is as it should be; others have another colour.
    pub ok: bool,
    /// What is shown while the pointer rests on it.
    pub hint: String,
}

/// Bars along an axis.
#[derive(Clone, Debug)]
pub struct Bars {
    pub title: String,
    /// What the axis and the labels mean.
    pub caption: String,
    pub bars: Vec<Bar>,
}

impl Bars {
    pub fn svg(&self) -> String {
        super::themed_svg(self)
    }

    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        super::painted_png(self)
    }
}

impl Drawing for Bars {
    fn size(&self) -> (u32, u32) {
        (WIDTH as u32, HEIGHT as u32)
    }

    fn title(&self) -> String {
        self.title.clone()
    }

    fn description(&self) -> String {
        format!("{} bars: {}", self.bars.len(), self.caption)
    }

    fn draw(&self, canvas: &mut dyn Canvas) {
        let ink = |anchor, colour| Lettering { anchor, colour, large: false };
        let title = Lettering { anchor: Anchor::Start, colour: INK, large: true };
        canvas.text((20.0, 26.0), &self.title, title);
        let end = self.bars.iter().map(|bar| bar.to).fold(1.0, f64::max);
        let most = self.bars.iter().map(|bar| bar.height).fold(1.0, f64::max);
        for bar in &self.bars {
            let x = LEFT + bar.from / end * (RIGHT - LEFT);
            let width = (bar.to - bar.from) / end * (RIGHT - LEFT);
            let height = bar.height.max(0.0) / most * (BOTTOM - HIGHEST);
            let (y, colour) = (BOTTOM - height, if bar.ok { CURVES[0] } else { CURVES[1] });
            canvas.with_hint(&bar.hint, &mut |canvas| {
                canvas.rectangle((x, y), ((width - 1.0).max(1.0), height), colour, 1.0);
            });
            if width > WORDS {
                let middle = x + width / 2.0;
                canvas.text((middle, y - 6.0), &bar.label, ink(Anchor::Middle, INK));
                canvas.text((middle, y + 16.0), &bar.inner, ink(Anchor::Middle, PAPER));
            }
        }
        canvas.line(&[(LEFT, HIGHEST), (LEFT, BOTTOM), (RIGHT, BOTTOM)], FAINT_INK, 1.0);
        canvas.text(((LEFT + RIGHT) / 2.0, HEIGHT - 18.0), &self.caption, ink(Anchor::Middle, INK));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_bars_have_hints_alone() {
        let bar = |from: f64, to: f64| Bar {
            from,
            to,
            height: 23.0,
            label: format!("label {from}"),
            inner: "23".into(),
            ok: from > 0.0,
            hint: format!("from <{from}>"),
        };
        let bars =
            Bars { title: "t".into(), caption: "c".into(), bars: vec![bar(0.0, 10.0), bar(10.0, 1000.0)] };
        let svg = bars.svg();
        assert!(svg.contains("label 10") && !svg.contains("label 0<"), "{svg}");
        assert!(svg.contains("<title>from &lt;0&gt;</title>"), "{svg}");
        let none = Bars { bars: Vec::new(), ..bars };
        assert!(!none.svg().contains("NaN"));
        assert_eq!(&none.png().unwrap()[..4], b"\x89PNG");
    }
}
