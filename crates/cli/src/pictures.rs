//! Pictures of a run, written to files beside the report.

use std::path::Path;

use clap::Args;
use warpfold::picture::{Graph, Subject, Timeline};
use warpfold::render::Document;

use crate::failure::Failure;
use crate::places::{self, Places};

/// Which pictures.
#[derive(Args)]
#[command(next_help_heading = "Pictures")]
pub struct PictureArgs {
    /// What each lane did at each issue: a picture to FILE.svg, as text to
    /// FILE.txt; `-` lists the lanes of each pass in the report
    #[arg(long, value_name = "FILE")]
    timeline: Option<String>,

    /// The control-flow graph with counts, to FILE.svg
    #[arg(long, value_name = "FILE")]
    cfg: Option<String>,
}

/// What a timeline is written as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Report,
    Svg,
    Text,
}

impl PictureArgs {
    fn form(&self) -> Result<Option<Form>, Failure> {
        let Some(file) = &self.timeline else {
            return Ok(None);
        };
        let extension = Path::new(file).extension().and_then(|e| e.to_str());
        Ok(Some(match extension {
            _ if file == "-" => Form::Report,
            Some("svg") => Form::Svg,
            Some("txt") => Form::Text,
            _ => {
                return Err(Failure::about(
                    "--timeline",
                    format!(
                        "`{file}` is no place for a timeline: expected `FILE.svg`, `FILE.txt` or `-`"
                    ),
                ));
            }
        }))
    }

    /// The same with the pictures' files, which must be such.
    pub fn places<'a>(&'a self, places: Places<'a>) -> Result<Places<'a>, Failure> {
        self.timeline()?;
        // A timeline in the report has no file of its own.
        let timeline = self.timeline.as_deref().filter(|&file| file != "-");
        Ok(places
            .writes("--timeline", timeline)
            .writes("--cfg", self.cfg.as_deref()))
    }

    /// Whether a timeline is to be recorded. What is no place for a picture is
    /// refused, before anything runs.
    pub fn timeline(&self) -> Result<bool, Failure> {
        if let Some(file) = &self.cfg
            && Path::new(file).extension().is_none_or(|e| e != "svg")
        {
            return Err(Failure::about(
                "--cfg",
                format!("`{file}` is no place for a graph: expected `FILE.svg`"),
            ));
        }
        Ok(self.form()?.is_some())
    }

    /// Writes the pictures.
    pub fn write(&self, subject: &Subject<'_>) -> Result<(), Failure> {
        let timeline = || Timeline::new(subject).expect("the run was recorded for it");
        match (self.form()?, &self.timeline) {
            (Some(Form::Svg), Some(file)) => places::write(file, &timeline().scene().to_svg())?,
            (Some(Form::Text), Some(file)) => places::write(file, &timeline().to_text())?,
            _ => {}
        }
        if let Some(file) = &self.cfg {
            let graph = Graph::new(subject).map_err(|e| Failure::about("--cfg", e.to_string()))?;
            places::write(file, &graph.scene().to_svg())?;
        }
        Ok(())
    }

    /// The report, with passes only where they are to be listed in it.
    pub fn report(&self, mut doc: Document) -> Document {
        if self.timeline.as_deref() != Some("-") {
            for run in &mut doc.runs {
                run.timeline = None;
            }
        }
        doc
    }
}
